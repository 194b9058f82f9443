"""What a script must offer and what CLIs print: contract, CLIs, stream, `Driver`, `Agent`, `Provider`."""
