"""One call of a tool.

``agent``   an agent script's hooks around its program, with a deadline
``output``  what the program's output says beside the agent's own words: a provider's limit, tokens and cost
"""
