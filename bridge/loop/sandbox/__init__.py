"""Where a turn runs: on this machine, in bubblewrap, in a container, in srt. A policy in, a command line out.

The whole CLI of a turn is boxed, with all that it starts. What is let in is decided by :mod:`.contents`, from what
the user wants (:mod:`.settings`) and what the CLI's file says; a module per provider makes a command line of it.
"""
