"""`Task`, under the name by which programs that use `Swarm` have imported it."""

from bridge.loop.tasks.task import Task

__all__ = ["Task"]
