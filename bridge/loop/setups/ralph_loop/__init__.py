"""ralph-loop setups: ``agents/*.sh`` with ``agent_*`` functions, and the bash controller ``ralph`` around them.

README.md says what lies where. Nothing is imported here.
"""
