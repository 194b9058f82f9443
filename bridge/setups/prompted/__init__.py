"""Setups whose controller gives a prompt to a CLI, again and again: what several kinds of them have in common.

A kind says what a run of it is (`job`): which prompt, which plan, what ends it. `script` reads the controller's own
script for what it calls, `task_lists` the files in which such setups keep what is to be done, `faults` what is
known to go wrong in the originals. Nothing here names a kind.
"""
