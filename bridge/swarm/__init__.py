"""Many loops side by side, each in a work tree of its own; nothing that an agent writes is lost.

===============  ===============================================================================================
``tasks``        what is to be done: boxes of the plan, lines of a file, YAML (pure)
``plans``        the plan of each kind of setup: its tasks, and how they are ticked
``project``      a project as a swarm sees it: its kind of loop, its plan, its files that git doesn't have
``record``       the folder of one swarm: its state, its lock, what is asked of it, what the workers tell
``trees``        work trees: made one at a time, with the files that work needs
``saving``       everything in a work tree, reachable from a named ref
``worker``       one task's loop, in a process of its own
``supervisor``   what an executor runs: makes the tree, starts the worker, ends it in order, saves
``merging``      one task after the other into the swarm's branch, with a check
``executors``    where the tasks run: threads, Dask, anybody's
``on_dask``      Dask: a cluster here or elsewhere, and the line between host and workers
``courier``      the host's side of workers that see none of its files
``parcel``       what travels to them and comes back; what doesn't
``elsewhere``    their side
``transport``    commits by a hub, checked before they are taken
``host``         who works on what, and what came of it, as a stream of events
``opening``      `Swarm`: what may be asked for
``notices``      tells somebody who isn't there
``status``       where a swarm stands, for who looks at it
``cleaning``     takes away what is proven merged
===============  ===============================================================================================
"""
