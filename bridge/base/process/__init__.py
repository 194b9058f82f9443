"""Child processes: found, started, given a deadline, and ended with all that they have started.

=================  ===========================================================================================
``argv``           from an argument list to something that the kernel will start, or an error that says why not
``program``        a program with its output read line by line, until its whole process group has ended
``ask``            a short run to its end, such as git: what came of it
``ladder``         INT, TERM, KILL for process groups; the end of a session; Watch: a process that has not ended
``table``          the process table: who belongs to whom, whether a process is still the one that we knew
``leftovers``      what a tool has left running in sessions of its own
``guardian``       ends all of that when this process is killed
=================  ===========================================================================================
"""
