"""Setups of a script that is known, or of a prompt that is given to a CLI again and again.

A kind says what its script is started with and which plan it has (`kind`, `words_for`), or what a run of ours is
(`job`);
`task_lists` reads the files in which such setups keep what is to be done. Nothing here names a kind.
"""
