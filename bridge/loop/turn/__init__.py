"""One call of a tool: ``run_turn(tool, request)`` yields events and returns a ``TurnResult``.

``tool``      what goes in, what comes out, what happens meanwhile; the call itself
``driver``    a driver's CLI as a tool
``agent``     an agent script as a tool
``logs``      what single turns print, kept within bounds
``progress``  what a running turn shows of itself
"""
