"""``python -m bridge``: the command line, where the name ``ralph-bridge`` leads nowhere."""

from __future__ import annotations

from bridge.cli import main

if __name__ == "__main__":
    main()
