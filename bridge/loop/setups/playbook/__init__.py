"""``PROMPT_build.md`` and ``PROMPT_plan.md`` with ``loop.sh``: a prompt file per mode, given to a CLI without end.

They lie at the project's root, in ``.ralph/`` or in ``ralph/``; the CLI works in the project's root.
"""
