"""What a driver does: each hook called, and commands built from a matrix of inputs."""

from __future__ import annotations

import contextlib
import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from bridge.errors import FilterNotCompiled
from bridge.scripts.contract import driver_contract
from bridge.shell.protocol import quote
from bridge.verify.probe.base import Probe, once
from bridge.verify.probe.bench import DEADLINE
from bridge.verify.probe.commands import (
    FILES,
    MISSING,
    OTHER_SESSIONS,
    PROMPT_FILE,
    SESSION,
    Build,
    LiveCommand,
    Received,
    followed,
)
from bridge.verify.probe.far import WRAPPERS, why_unjudged
from bridge.verify.probe.state import HookResult, ProbeFailed, RunCommand
from bridge.verify.recordings import recordings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bridge.base.clis import DriverCapabilities
    from bridge.scripts.stream.jq import Filter
    from bridge.shell import Shell
    from bridge.verify.budget import Budget
    from bridge.verify.probe.far import Arrival
    from bridge.verify.probe.state import Watched
    from bridge.verify.recordings import Recording


def loop_functions() -> str:
    """The code of the loop's functions that drivers may call; what they log is no output of a hook."""
    bodies = {name: function.body for name, function in driver_contract().functions.items()}
    bodies["log_status"] = "return 0"
    return "\n".join(f"{name}() {{\n{body}\n}}" for name, body in bodies.items() if body is not None)


_NAME = re.compile(r"\w[\w.+-]*")


def _command(built: HookResult) -> list[str] | None:
    return list(built.value) if built.ok and isinstance(built.value, list) and built.value else None


class DriverProbe(Probe):
    def __init__(
        self, script: Path, bash: str, budget: Budget, deadline: float = DEADLINE, trace: str = ""
    ) -> None:
        super().__init__(script, bash, budget, deadline, trace)
        self._answers: dict[str, HookResult] = {}
        self._built: dict[Build, HookResult] = {}
        self._received: dict[Build, Received] = {}
        self._live: dict[Build, LiveCommand | None] = {}

    def prepare(self, shell: Shell) -> None:
        shell.execute(loop_functions())
        for name, hook in driver_contract().hooks.items():
            if hook.default_stub is not None:
                shell.execute(f"{name}() {{\n: default_of_the_contract\n{hook.default_stub}\n}}")
        shell.execute(
            Build().settings() + f"\nRALPHRC_FILE=.ralphrc\nPROMPT_FILE={PROMPT_FILE}\nVALID_TOOL_PATTERNS=()"
        )

    def _guess_cli(self) -> None:
        stem = os.path.basename(self.script).removesuffix(".sh")
        known = driver_contract().drivers.get(stem)
        self.scratch.add_cli(known.cli[0] if known else stem)
        super()._guess_cli()

    def own(self, hook: str) -> bool:
        return self.has(hook) and "default_of_the_contract" not in self.functions()[hook]

    # -- the simple hooks ----------------------------------------------------------------------------

    def answer(self, hook: str) -> HookResult | None:
        """The hook called once without arguments, watched; None when there is no such function."""
        if not self.has(hook):
            return None
        if hook not in self._answers:
            if hook != "driver_cli_binary":
                self.cli()  # its scripted CLI must be there before anything looks for it
            array = {"driver_valid_tools": "VALID_TOOL_PATTERNS", "driver_prepare_live_command": "LIVE_CMD_ARGS"}
            self._answers[hook] = self.call(hook, array=array.get(hook), watch=True)
        return self.seen(self._answers[hook])

    def truth(self, hook: str) -> bool | None:
        """A boolean hook: absent, it counts as the contract has it; None when it did not come back."""
        answer = self.answer(hook)
        if answer is None:
            return driver_contract().hook(hook).absent.status == 0
        return None if answer.trouble else answer.status == 0

    @once
    def cli(self) -> str:
        """What driver_cli_binary prints, with a scripted CLI in its place; empty when it can't be told."""
        answer = self.answer("driver_cli_binary")
        name = answer.text if answer is not None and not answer.trouble else ""
        if answer is not None and not name:
            self.miss("driver_cli_binary prints nothing", "prints a name")
        if name and "\n" not in name:
            self.scratch.add_cli(name)
            self.evaluate(f"DRIVER_DISPLAY_NAME=Probed CLAUDE_CODE_CMD={quote(name)}; hash -r")
        return name

    @once
    def name(self) -> str:
        answer = self.answer("driver_name")
        return (answer.text if answer is not None else "") or os.path.basename(self.script).removesuffix(".sh")

    @once
    def known(self) -> DriverCapabilities | None:
        """The capability matrix' column for it, where the contract names it."""
        known = driver_contract().drivers.get(self.name())
        return known if known is not None and known.in_contract else None

    @once
    def available(self) -> tuple[HookResult, HookResult] | None:
        """driver_check_available with the CLI on PATH and without; None when one of the two can't be arranged."""
        if not self.own("driver_check_available") or not self.cli() or not self._cli_is_ours():
            return None
        return self.call("driver_check_available", watch=True), self.without_cli("driver_check_available")

    def without_cli(self, hook: str, *arguments: str) -> HookResult:
        with self._hidden(self.scratch.home, self.scratch.path_without()):
            return self.call(hook, *arguments)

    def without_one(self, name: str, hook: str) -> HookResult:
        """Call a hook while one of the scripted CLIs is gone, and the others are there."""
        file = self.scratch.bin / name
        if not file.exists():
            return HookResult(hook, 1, "", "")
        with self._hidden(file, os.pathsep.join((str(self.scratch.bin), self.scratch.path_without()))):
            return self.call(hook)

    @contextlib.contextmanager
    def _hidden(self, path: Path, search: str) -> Iterator[None]:
        """A file or folder of the scratch folder is somewhere else, and PATH is another one."""
        self.evaluate(f"PATH={quote(search)}; hash -r")
        hidden = self.scratch.root / "hidden"
        os.rename(path, hidden)
        try:
            yield
        finally:
            os.rename(hidden, path)
            self.evaluate(f"PATH={quote(self.scratch.path)}; hash -r")

    def _cli_is_ours(self) -> bool:
        return self.cli().startswith(str(self.scratch.root)) if os.path.isabs(self.cli()) else "/" not in self.cli()

    # -- commands ------------------------------------------------------------------------------------

    def build(self, case: Build) -> HookResult:
        """driver_build_command for this case, as if it were the first; `value` is the array."""
        if case not in self._built:
            self.cli()  # see answer
            self._built[case] = self.build_again(case, "\\builtin unset -v CLAUDE_CMD_ARGS\nCLAUDE_CMD_ARGS=()\n")
            argv = _command(self._built[case])
            if argv is not None:  # at once: the next build may write the same files
                self._received[case] = self._follow(case, argv)
        return self.seen(self._built[case])

    def build_again(self, case: Build, first: str = "") -> HookResult:
        """The same, after whatever was built before; `first` is run before it."""
        self.cli()  # see answer
        arguments = (case.prompt, case.context, case.session, *case.extra)
        first = f"{first}{case.settings()}\n{case.host}"
        built = self.call(
            "driver_build_command", *arguments, array="CLAUDE_CMD_ARGS", watch=not case.host, first=first
        )
        if not built.status or built.trouble or not built.value or case.prompt == MISSING:
            return built
        last = self.last_of(case)
        return built._replace(false_test=last) if last is not None and last.is_test else built

    def last_of(self, case: Build) -> RunCommand | None:
        words = ("driver_build_command", case.prompt, case.context, case.session, *case.extra)
        ran = self.commands(f"{case.settings()}\n{case.host}\n{' '.join(map(quote, words))}")
        return ran[-1] if ran else None

    def build_apart(self, case: Build, host: str, also: str = "") -> HookResult:
        """Build in a subshell, `host` being run first; the value of a variable (`also`) stands in front."""
        self.cli()  # see answer
        words = " ".join(quote(word) for word in ("driver_build_command", case.prompt, case.context, case.session))
        first = f'"${{{also}-}}" ' if also else ""
        then = "&&" if self.build(Build()).false_test is None else ";"
        code = f"""{case.settings()}
(
CLAUDE_CMD_ARGS=()
{host}
{words} >/dev/null {then} \\builtin printf '%s\\0' {first}${{CLAUDE_CMD_ARGS[@]+"${{CLAUDE_CMD_ARGS[@]}}"}}
)"""
        result = self.call("eval", code)
        return result._replace(hook="driver_build_command", value=result.stdout.split("\0")[:-1])

    def argv(self, case: Build) -> list[str] | None:
        """The command of this case; None when none was built."""
        answer = self.build(case)
        argv = _command(answer)
        may_refuse = case.session not in ("", self.session() or SESSION)  # such as the ids of other CLIs
        if argv is None and not answer.trouble and case.is_plain and not may_refuse:
            how = f"returns {answer.status}" if answer.status else "builds nothing"
            which = " for a session" if case.session else " with a context" if case.context else ""
            self.miss(f"driver_build_command {how}{which}", "builds a command")
        return argv

    def received(self, case: Build) -> Received:
        """What arrives at the far end of the command of this case; `ProbeFailed` when that is not followed."""
        return followed(self.arrived(case))

    def arrived(self, case: Build) -> Received:
        """The same, as far as it is followed."""
        self.build(case)
        return self._received.get(case, Received((), known=False))

    def line(self, case: Build) -> list[str] | None:
        """The CLI's own command line in the command of this case, or the command where nobody saw the CLI start."""
        argv = self.argv(case)
        return argv if argv is None else self.received(case).line

    def _follow(self, case: Build, argv: list[str]) -> Received:
        direct, known, environment, refusal = argv, False, list[str](), ""
        arrival, unfollowed = self._arrival(argv)
        if unfollowed:
            return Received(tuple(argv), known=False, unfollowed=unfollowed)
        if arrival is not None:
            environment, refusal = arrival.environment, arrival.refusal
            if arrival.given:
                direct, known = arrival.given, True
            elif case != Build() and self.arrived(Build()).known:
                return Received((), refusal=refusal)  # there it was started
        beside = [*environment, *filter(None, (self._content(value, case.prompt) for value in direct))]
        return Received(tuple(direct), tuple(beside), known, refusal)

    def _arrival(self, argv: Sequence[str], status: int = 0) -> tuple[Arrival | None, str]:
        """What a command starts, when it begins with what starts another; and what on the way is not followed."""
        first, cli = os.path.basename(argv[0]), os.path.basename(self.cli())
        if first not in WRAPPERS:
            started = first != cli and _NAME.fullmatch(first) and cli in map(os.path.basename, argv[1:])
            return None, first if started else ""
        arrival = self.far_end(argv, self._programs(), status=status)
        arrived = bool(cli) and cli in map(os.path.basename, arrival.given)
        return arrival, "" if arrived else arrival.unfollowed

    def _programs(self) -> list[str]:
        return [*self._words_of_the_command(), self.cli()]

    @once
    def built_among_blanks(self) -> tuple[list[str], bool] | None:
        """The command that is built in a folder whose name holds blanks, and whether it starts the CLI there.

        None when no command names the folder of the project, which stands for the other in the answer.
        """
        argv, folder = self.argv(Build()), str(self.scratch.project)
        if not argv or not any(folder in word for word in argv):
            return None
        there = self.scratch.root / "a folder with  blanks"
        os.makedirs(there / ".ralph", exist_ok=True)
        (there / PROMPT_FILE).write_text(FILES[PROMPT_FILE])
        built = self.build_apart(Build(), f"\\builtin cd {quote(str(there))}").value
        words = list(built) if isinstance(built, list) else []
        starts = not self.arrived(Build()).known or bool(words and self.far_end(words, self._programs()).given)
        return [word.replace(str(there), folder) for word in words], starts

    def status_behind(self, argv: list[str], status: int) -> int | None:
        """With what status a command ends when the CLI that it starts ends with this; None when it starts none."""
        arrival, unfollowed = self._arrival(argv, status)
        if unfollowed:
            raise ProbeFailed(why_unjudged(unfollowed))
        if arrival is None:
            return status
        return arrival.status if arrival.given else None

    def _content(self, value: str, prompt: str) -> str | None:
        """Of a file that an argument names: not of the prompt's own."""
        name = re.sub(r"^(--?[\w-]+=)?@?", "", value)
        if not name or len(name) > 1000 or "\n" in name or "\0" in name:
            return None
        path = self.scratch.project / name
        with contextlib.suppress(OSError):  # such as a word that is too long for a name
            if name != prompt and path.is_file() and str(path.resolve()).startswith(str(self.scratch.root)):
                return path.read_bytes()[: 1 << 20].decode("utf-8", "surrogateescape")
        return None

    @once
    def _words_of_the_command(self) -> list[str]:
        built = self.build_again(Build(), "CLAUDE_CMD_ARGS=()\n")
        text = FILES[PROMPT_FILE].rstrip("\n")
        return [value for value in built.value or [] if text not in value or len(value) > len(text) + 2]

    @once
    def program(self) -> str:
        """The CLI that prints the events: the matrix', the one asked for, or the one that a wrapper starts."""
        if (known := self.known()) is not None:
            return known.cli[0]
        words = [self.cli()]
        line = self.arrived(Build()).line if self.argv(Build()) is not None else []
        for before, word in pairwise(["", *line]):
            if not before.startswith("--") or before == "--":  # else it may be what another CLI is asked for
                words += [word] * (os.path.basename(word) != "agent")
        return next((word for word in words if recordings_of(word)), self.cli())

    def printed(self) -> list[Recording]:
        """What its CLI prints for the commands that are built, ordinary and live; today's shape first."""
        with self.by_the_way():
            if not self.argv(Build()):
                return self.recordings()
            live = self.live(Build())
            return self.recordings((*self.arrived(Build()).line, *(live.arrived.line if live is not None else ())))

    @once
    def session(self) -> str | None:
        """A session id of a shape that this driver passes on; None when it passes none."""
        for candidate in (SESSION, *OTHER_SESSIONS):
            if self.arrived(Build(session=candidate, resume="true")).count(candidate):
                return candidate
        return None

    def live(self, case: Build) -> LiveCommand | None:
        """driver_prepare_live_command after this build; None where there is no such hook or no command."""
        if not self.own("driver_prepare_live_command"):
            return None
        if case not in self._live:
            self.evaluate("\\builtin unset -v LIVE_CMD_ARGS\nLIVE_CMD_ARGS=()")
            live = self.live_again(case)
            if live is not None and live.argv:
                live = live._replace(arrived=self._follow(case, live.argv))
            self._live[case] = live
        if (live := self._live[case]) is None:
            self.argv(case)
        else:
            self.seen(live.result)
        return live

    def live_again(self, case: Build) -> LiveCommand | None:
        built = self.build_again(case)
        if not built.ok or not isinstance(built.value, list):
            return None
        answer = self.call("driver_prepare_live_command", array="LIVE_CMD_ARGS", watch=True)
        after = self.shell.get("CLAUDE_CMD_ARGS", [])
        return LiveCommand(answer, list(built.value), list(after) if isinstance(after, list) else [])

    # -- the filter ----------------------------------------------------------------------------------

    @once
    def filter(self) -> Filter | str | None:
        """The compiled stream filter; what jq says when it does not compile; None without a hook."""
        from bridge.scripts.stream.jq import Filter

        answer = self.answer("driver_stream_filter") if self.own("driver_stream_filter") else None
        if answer is None or not answer.text.strip():
            if answer is not None:
                self.miss("driver_stream_filter prints nothing", "prints a filter")
            return None
        try:
            return Filter(answer.text)
        except FilterNotCompiled as error:
            self.miss("the filter doesn't compile", "does")
            return error.complaint

    def live_argv(self) -> list[str]:
        case = Build()
        live = self.live(case)
        if live is not None and live.argv is not None:
            return live.argv
        return self.argv(case) or []

    # -- what was seen on the way --------------------------------------------------------------------

    @once
    def call_everything(self) -> None:
        for hook in driver_contract().hooks:
            if hook in ("driver_build_command", "driver_prepare_live_command") or not self.own(hook):
                continue
            if driver_contract().hooks[hook].arguments:
                self.call(hook, self.scratch.file("empty.log", b""), watch=True)
            else:
                self.answer(hook)
        if self.has("driver_build_command"):
            for case in (
                Build(),
                Build(context="Loop #2.", session=SESSION, resume="true", tools="Read,Write"),
                Build(output="text", mode="plan"),
                Build(prompt=MISSING),
            ):
                self.build(case)
            self.live(Build())
        self._watching = False  # every hook has been seen; what follows is about their answers

    def watched(self) -> list[Watched]:
        self.call_everything()
        return self._watched

    def started_cli(self) -> list[tuple[str, str]]:
        self.call_everything()
        return self._cli_calls
