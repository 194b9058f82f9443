"""The features of the loop: an object each, in one list. The runner knows none of them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.loop.engine.stages.box import BoxGuard
from bridge.loop.engine.stages.caps import SpendingCaps
from bridge.loop.engine.stages.denials import Denials
from bridge.loop.engine.stages.gates import CheckAndReview
from bridge.loop.engine.stages.ground import GitLock, Ground, PromptPresence
from bridge.loop.engine.stages.messages import Messages
from bridge.loop.engine.stages.progress import Progress
from bridge.loop.engine.stages.rotation import SessionRotation
from bridge.loop.engine.stages.tools import ToolChoice

if TYPE_CHECKING:
    from bridge.loop.engine.context import LoopContext
    from bridge.loop.engine.stages.stage import Stage

STAGES: tuple[type[Stage], ...] = (
    BoxGuard,  # before anybody reads what a turn has left
    GitLock,
    Ground,
    PromptPresence,
    Messages,
    ToolChoice,
    CheckAndReview,
    SpendingCaps,  # behind the reviews that are counted with a turn
    Progress,  # by what the others have made of a turn
    SessionRotation,  # of the session that the tool would go on with, behind the decision that stands
    Denials,
)
"""In the order in which they are asked."""


def stages_of(loop: LoopContext[Any]) -> tuple[Stage, ...]:
    return tuple(stage(loop) for stage in STAGES)
