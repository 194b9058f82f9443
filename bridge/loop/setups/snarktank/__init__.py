"""``scripts/ralph/ralph.sh`` with ``prd.json``: stories by priority, a prompt file per CLI, a promise at the end.

The CLI works in the project's root; all names of the setup's own files are relative to its folder.
"""
