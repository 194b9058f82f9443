"""The loop: one turn, its box, the engine and its stages, kinds of setup, tasks, swarm, report."""
