"""ralphy: ``.ralphy/config.yaml`` with rules and boundaries, a list of tasks, one task per turn.

Its own program is installed for all projects: there is no script of the project to stand in for.
"""
