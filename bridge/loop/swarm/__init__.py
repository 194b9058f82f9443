"""Many loops side by side, each in a work tree of its own; nothing that an agent writes is lost."""
