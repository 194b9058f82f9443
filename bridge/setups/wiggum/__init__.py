"""Wiggum mode: long unattended runs with promises, a circuit breaker, checkpoints, and a Stop hook that blocks.

``state``, ``breaker``, ``policy``, ``signs``, ``plan``, ``progress`` and ``prompt`` are pure; ``turns`` is the
beginning and the end of a turn, shared by both modes; ``outer`` starts the agent anew for each turn, ``hook``
keeps a session going from inside. Nothing is imported here: the hook has to start quickly.
"""

from __future__ import annotations
