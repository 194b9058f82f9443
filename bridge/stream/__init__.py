"""What the coding CLIs print: filters, readers, status blocks. Pure functions; nothing here prints."""
