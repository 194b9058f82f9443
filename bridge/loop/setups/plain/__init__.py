"""A folder with a prompt and no setup: one of our drivers, or the project's own, state in ``.ralph``.

``settings`` says how such a loop runs, ``store`` keeps its files.
"""
