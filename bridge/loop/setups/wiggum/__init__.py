"""Wiggum mode: long unattended runs with promises, a circuit breaker, checkpoints, and a Stop hook that blocks.

``turns`` is the beginning and the end of a turn, and ``policy`` what follows from it, in both modes: ``outer`` and
``store`` are the loop that starts the agent anew for each turn, ``hook`` keeps a session going from inside. Nothing
is imported here: the hook has to start quickly.
"""
