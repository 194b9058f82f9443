"""Any script that calls a coding CLI in a loop: it is run as its user would, and each such call is a turn.

`stand_in` is what it finds on PATH in the place of a CLI, `server` takes the calls, `calls` reads them, `turn` runs
the CLI for one; `process` is the script itself; `handler` and `policy` are what the loop asks.
"""
