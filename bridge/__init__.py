"""ralph-bridge: shell drivers of coding loops, run from Python."""
