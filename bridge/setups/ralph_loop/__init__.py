"""ralph-loop setups: ``agents/*.sh`` with ``agent_*`` functions, and the bash controller ``ralph`` around them.

``kind`` is the kind as one object, ``detect`` finds one, ``arguments`` reads its command line, ``settings`` its
``config``; ``opening`` checks and loads, ``prompt`` and ``plan`` make the prompts; ``policy`` (pure) and ``store``
are its part of the loop, ``session_log`` has the log's lines. Nothing is imported here.
"""
