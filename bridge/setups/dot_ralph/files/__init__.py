"""The files under ``.ralph/``, one reader and writer each.

Every one is written atomically, in the format that the original's own readers accept; reading never fails
on what somebody else has left there, unless the system refuses.
"""
