"""From the tree of a hook, and the values of its variables, to what runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.stream.lift.body import Body
from bridge.stream.lift.faults import NotLifted
from bridge.stream.lift.flow import local
from bridge.stream.lift.plain import Frame, engine
from bridge.stream.lift.running import LoopRun
from bridge.stream.lift.shelltree import Jq, Loop, Pipeline, Tool
from bridge.stream.lift.stages import JqStage, LoopStage, ToolStage
from bridge.stream.lift.tools import tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bridge.stream.lift.body import Run
    from bridge.stream.lift.flow import FlowRun
    from bridge.stream.lift.jqlang.line import JqLine
    from bridge.stream.lift.running import Outcome
    from bridge.stream.lift.stages import Stage
    from bridge.stream.lift.words import Word

__all__ = ["Builder", "check_flow", "input_file"]

_USUAL_IFS = " \t\n"


@dataclass(slots=True)
class Builder:
    """Builds the parts of one run.

    Attributes:
        values: the variables that are set before the first line.
        pipefail, errexit: options of the shell.
        not_json: jq's status after what is no JSON.
        engines: the jqs of the loop.
    """

    values: Mapping[str, str]
    pipefail: bool = False
    errexit: bool = False
    not_json: int | None = None
    engines: list[JqLine] = field(default_factory=list)

    def body(self, loop: Loop) -> Run:
        """The body of a loop."""
        if loop.strip and self.values.get("IFS", _USUAL_IFS) != _USUAL_IFS:
            raise NotLifted("IFS is not the usual one")
        body = Body(self.values, self.pipefail, self.errexit, self.not_json, self.engines)
        compiled, values = body.per_line(loop.body), self.values

        def run(frame: Frame) -> int:
            frame.values = {**values, **frame.values}
            return compiled(frame)

        return run

    def loop_run(
        self, loop: Loop, oracle: Callable[[bytes], Outcome], on_error: Callable[[bytes], object]
    ) -> LoopRun:
        """A loop that is the whole hook."""
        return LoopRun(loop, self.body(loop), self.engines, oracle, on_error, self.errexit)

    def stages(self, nodes: Iterable[object]) -> list[Stage]:
        """The commands of a pipeline; a nested one is part of it."""
        made: list[Stage] = []
        for node in nodes:
            if isinstance(node, Pipeline):
                if node.ignored:
                    raise NotLifted("`|| true` within a pipeline")
                made += self.stages(node.stages)
            elif isinstance(node, Jq):
                jq = engine(node, self.values, self.engines)
                jq.not_json, jq.streams = self.not_json, True
                made.append(JqStage(jq, node.quiet))
            elif isinstance(node, Tool):
                made.append(ToolStage(tool(node)))
            elif isinstance(node, Loop):
                if node.last or self.errexit:
                    raise NotLifted("a loop within a pipeline with errexit, or with a last line without newline")
                made.append(LoopStage(node, self.body(node)))
            else:
                raise NotLifted("echo or printf over a whole input")
        return made


def input_file(main: Pipeline) -> Word | None:
    """The file that the first command reads; None for stdin.

    Raises:
        NotLifted: a later one reads a file, too, or the first reads a here-string.
    """
    first, *later = flat(main)
    if any(getattr(stage, "file", None) is not None or getattr(stage, "here", None) is not None for stage in later):
        raise NotLifted("a command within the pipeline has an input of its own")
    if getattr(first, "here", None) is not None or not isinstance(first, Jq | Loop | Tool):
        raise NotLifted("a pipeline that doesn't start with the hook's input")
    return first.file


def flat(main: Pipeline) -> list[object]:
    """The commands of a pipeline and of those within it."""
    out: list[object] = []
    for stage in main.stages:
        out += flat(stage) if isinstance(stage, Pipeline) else [stage]
    return out


def check_flow(run: FlowRun, *, ignored: bool) -> None:
    """Whether bash can be asked about lines of a pipe, with the right status at the end.

    Raises:
        NotLifted: it can't.
    """
    finders = sum(isinstance(stage, ToolStage) and stage.work.finds for stage in run.stages)
    limited = not local(run.stages)
    if run.whole is None and not ignored and finders and (run.pipefail or run.stages[-1].status):
        raise NotLifted("the status of grep on a pipe")
    if run.pipefail and limited and not ignored:
        raise NotLifted("head with pipefail: the status depends on who is faster")
