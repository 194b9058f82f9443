"""``afk-ralph.sh N`` and its like: a script that carries its prompt itself, a ``PRD.md`` or a list of tasks.

The scripts lie at the project's root, in ``plans/`` or in ``ralph/``; the CLI works in the project's root.
"""
