"""`Agent`: an agent script with one method per hook of its contract.

The hooks are called as the controller calls them: `agent_pre_iteration` and `agent_post_iteration` in the main
shell, so that what they set stays; the others beside it, as stages of a pipeline, so that what they set is lost
and an ``exit`` ends nothing else. What each is for lies in ``contract/agent.yaml``.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from bridge.base import resources
from bridge.errors import HookExited, HookFailed
from bridge.scripts.contract import agent_contract
from bridge.scripts.contract.scripts import check_parses
from bridge.scripts.script import GIVEN, LoadedScript
from bridge.scripts.stream import COMMANDS
from bridge.scripts.stream.display import Display
from bridge.scripts.stream.filters import HostedFilter
from bridge.shell import DEFAULT_TIMEOUT, Shell, protocol, values
from bridge.shell.consent import sourced
from bridge.shell.script import absolute, check, path_text

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import timedelta
    from typing import IO

    from bridge.scripts.contract import Contract
    from bridge.shell import Reply
    from bridge.shell.jobs import Errors, Input, Job, Tee

    Stream = Job | IO[bytes] | Iterable[bytes | str] | int


OPTIONS = ("errexit", "nounset", "pipefail")
"""What the controller has on."""

# Nothing of it forks; the original pipes through `tee -a`. SESSION_LOG may be unset, under nounset, too.
_LOG = f"""log() {{
: {GIVEN}
\\builtin echo "$*"
case ${{SESSION_LOG+set}} in
set) \\builtin echo "$*" >>"$SESSION_LOG" ;;
*) \\builtin echo "log: SESSION_LOG: unbound variable" >&2; return 1 ;;
esac
}}"""

_FILTERS = ("agent_extract_response", "agent_format_display")

_CONTEXT = ("_ITER_CONTEXT_PCT", "_ITER_CONTEXT_USED", "_ITER_CONTEXT_MAX")


_ELSEWHERE = "_ralph_bridge_elsewhere"
# errexit would act there, and doesn't in a stage of a pipeline; other options are for people who type. A variable
# that is bash's own and read-only would end the block in which it is declared.
_COPY = r"""{
\builtin echo '{'
for __rb_v in $(\builtin compgen -v); do
case $__rb_v in WITHOUT|BASH*|EUID|FUNCNAME|GROUPS|PPID|SHELLOPTS|UID) ;;
*) \builtin declare -p -- "$__rb_v" 2>/dev/null ;; esac
done
\builtin echo '} 2>/dev/null'
\builtin declare -f
\builtin shopt -p
\builtin set +o | while IFS= \builtin read -r __rb_v; do case $__rb_v in
*errexit|*monitor|*history|*histexpand|*emacs|*vi|*interactive*) ;; *) \builtin echo "$__rb_v" ;;
esac; done
\builtin echo 'agent_invoke "$@"'
} >|TARGET
\builtin unset __rb_v
"""


class Context(NamedTuple):
    """How full the context was, in the words of the script: None for what is unset, not checked to be a number."""

    percent: str | None
    used: str | None
    maximum: str | None


class Elsewhere(NamedTuple):
    """A command that takes the place of ``agent_invoke``.

    Attributes:
        argv: the command.
        keeps: names of exported variables that it keeps; all others go.
        sets: variables that it gets.
    """

    argv: Sequence[str]
    keeps: Collection[str]
    sets: Mapping[str, str]

    @property
    def code(self) -> str:
        """Shell that becomes it. Values stay out of its command line, which everybody can read."""
        kept = "|".join(map(protocol.quote, self.keeps)) or "''"
        sets = "".join(f"\\builtin export {name}={protocol.quote(value)}\n" for name, value in self.sets.items())
        return (
            "for __rb_v in $(\\builtin compgen -e); do\n"
            f'case $__rb_v in {kept}) ;; *) \\builtin export -n "$__rb_v" ;; esac\ndone\n{sets}'
            f"\\builtin exec {' '.join(map(protocol.quote, self.argv))}\n"
        )


def find(name: str, folders: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """The script of the agent called `name`: in `folders` (a setup's own ``agents``), then shipped.

    Raises:
        UnknownAgent: there is none, or the name holds ``/`` or ``..``.
    """
    return resources.find_script("agent", name, folders)


class Agent(LoadedScript):
    """One agent in a living bash of its own.

    Attributes:
        sourced: how sourcing it went, with what that printed.
    """

    _noun, _example = "an agent", "agents/amp.sh"

    def __init__(self, script: Path, shell: Shell, contract: Contract, *, lift: bool = True) -> None:
        super().__init__(script, shell, contract)
        self.sourced: Reply | None = None
        self._lift = lift
        self._filters = {hook: HostedFilter(shell, hook) for hook in _FILTERS} if lift else {}

    # -- loading -------------------------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        script: str | os.PathLike[str],
        *,
        settings: Mapping[str, object] | None = None,
        folders: Sequence[str | os.PathLike[str]] = (),
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        bash: str | None = None,
        timeout: float | timedelta | None = DEFAULT_TIMEOUT,
        strict: bool = True,
        lift: bool = True,
        before: Sequence[str | os.PathLike[str]] = (),
        provide_jq: bool = True,
        shell: Shell | None = None,
        boxed: bool = False,
    ) -> Self:
        """Load an agent as its controller does: the controller's variables and functions, `before`, the script.

        Args:
            script: a path (anything with a ``/`` or a ``.sh``), or the name of an agent, looked for in
                `folders` and among the shipped ones.
            settings: globals that are there before anything is sourced (``RALPH_DIR``, ``MODE``); what is not
                given stays unset, and the scripts run under nounset. `set` changes them later.
            folders: where to look for names first.
            env, cwd, bash: of the shell.
            timeout: seconds, or a timedelta, for what runs in the main shell: sourcing, and the hooks before and
                after an iteration.
            strict: with False, missing hooks are tolerated, and so are commands that fail while sourcing (to
                look at a script that does not meet the contract yet).
            lift: run hooks that start a jq for every line in one jq, where their output is certain to be the same.
            before: files that are sourced first, such as a setup's ``config``.
            provide_jq: where PATH has no jq, let the scripts find ours.
            shell: made by `open_shell`, perhaps with files sourced into it; the agent closes it. `env`, `cwd`,
                `bash`, `timeout` and `provide_jq` are its own then.
            boxed: it is for turns in a box, outside of which its hooks run: where its user wants that
                (``RALPH_BRIDGE_RUN_PROJECT_CODE=0``), it has to be one of ours, or a copy of one.

        Raises:
            ScriptNotFound, ScriptUnreadable, ScriptInvalid, UnknownAgent, ProjectCodeNotRun: see there.
            ContractViolation: required hooks are missing, or ``AGENT_CLI`` is not set; all are named.
            HookFailed: a command at the top level of `before` or of the script failed, or a variable was
                unset: that ends the controller, too.
            HookExited, HookTimeout: sourcing ended this way.
        """
        path = find(path_text(script), folders) if resources.is_name(script) else Path(absolute(script))
        if shell is None:
            shell = open_shell(env=env, cwd=cwd, bash=bash, timeout=timeout, provide_jq=provide_jq)
        try:
            shell.execute("\n".join(_assignment(name, value) for name, value in (settings or {}).items()))
            for each in before:
                _source(shell, Path(each), strict=strict)
            reply = _source(shell, Path(sourced(check(path), boxed=True)) if boxed else path, strict=strict)
            agent = cls(path, shell, agent_contract(), lift=lift)
            agent.sourced = reply
            unset = (name for name, entry in agent.contract.globals.items() if entry.required and name not in shell)
            agent._check(reply, strict=strict, unset=tuple(unset))
        except BaseException:
            shell.close()
            raise
        return agent

    @property
    def cli(self) -> str:
        """``AGENT_CLI``: the name of the program; empty when it is not set."""
        value = self.shell.get("AGENT_CLI", "")
        # As the controller's "$AGENT_CLI": of an array, the first element.
        return value if isinstance(value, str) else next(iter(value or ()), "")

    @property
    def lifted(self) -> dict[str, str]:
        """For each filter of the script: ``lifted`` when one jq runs it, else why bash does."""
        return {name: self._why_in_bash(name) or "lifted" for name in _FILTERS if self.has(name)}

    def _why_in_bash(self, hook: str) -> str:
        if not self._lift:
            return "lifting is turned off"
        return self._filters[hook].why_not()

    # -- beside the main shell -----------------------------------------------------------------------

    def invoke(
        self,
        prompt_file: str | os.PathLike[str],
        *,
        stdin: Input = 0,
        stderr: Errors = None,
        tee: Tee | None = None,
        end_line: bool = True,
        grace: float | timedelta | None = None,
        instead: Elsewhere | None = None,
    ) -> Job:
        """``agent_invoke``: start the program; iterate over its lines (bytes) while it prints them.

        Use it as a context manager: when the block ends, so has the program, with everything that it had started.
        `Job.status` has the exit status, `Job.terminate` ends it early. A run of the loop is::

            with open(capture, "wb") as file, agent.invoke(prompt, tee=file) as run:
                display = agent.format_display(run)
                for text in display:
                    ...
            run.status, display.status

        Args:
            prompt_file: path of the prompt, as the script shall see it.
            stdin: as of `Shell.start`; default: this process's own, as in the controller.
            stderr: as of `Shell.start`; default: this process's own: nobody stands between it and the user.
            tee: a binary file that gets every byte as it is read (the controller's ``last_agent_output``).
            end_line: add the newline that the last line may lack: the filters' ``read`` would drop it.
            grace: seconds, or a timedelta, that it may take to obey INT, and TERM, when it is ended.
            instead: a bash of its own that runs the hook, such as one in a box; see `write_copy`.
        """
        hook, arguments = "agent_invoke", [path_text(prompt_file)]
        if instead is not None:
            self.shell.call("eval", f"{_ELSEWHERE}() {{\n{instead.code}}}")
            hook, arguments = _ELSEWHERE, []
        return self.shell.start(
            hook,
            *arguments,
            stdin=stdin,
            stderr=stderr,
            tee=tee,
            end_line=end_line,
            grace=grace,
        )

    def write_copy(self, path: str | os.PathLike[str], *, without: Iterable[str] = ()) -> None:
        """Write a script that makes another bash what this one is by now, then runs ``agent_invoke``.

        It passes its arguments on.

        Args:
            path: of the script.
            without: variables that it is not to have.
        """
        names = "|".join(map(protocol.quote, without)) or "''"
        code = _COPY.replace("WITHOUT", names).replace("TARGET", protocol.quote(path_text(path)))
        self.shell.call("eval", code)

    def format_display(self, stream: Stream, *, end_line: bool = True, stderr: Errors = None) -> Display:
        """``agent_format_display``: what people shall see of `stream`, as soon as the hook prints it.

        Iterate over it for text (with surrogateescape), a line at a time where lines are printed; `Display.pieces`
        gives the bytes. `Display.status` is the hook's, once it has ended. If the hook ends early, the rest of the
        stream is read all the same (the controller's agent would die of SIGPIPE) and nothing of it shown.

        Args:
            stream: what `invoke` returned; or a descriptor, a binary file, or an iterable of lines, each with or
                without its newline.
            end_line: add the newline that the last line may lack.
            stderr: as of `Shell.start`.
        """
        hook = "agent_format_display"
        if self._lift and (running := self._filters[hook].display(stream, end_lines=end_line, stderr=stderr)):
            return Display(running)
        from bridge.shell.sources import source_of

        fed: Input = stream if hasattr(stream, "take") else source_of(stream, end_lines=end_line)
        return Display(self.shell.start(hook, stdin=fed, stderr=stderr))

    def extract_response(self, output_file: str | os.PathLike[str], *, stderr: Errors = None) -> str:
        """``agent_extract_response``: what the agent itself said, exactly as the hook prints it.

        As in the controller, its status counts for nothing, and an ``exit`` ends only itself. A last line without
        newline is dropped by most scripts (trap A.14.3): `invoke` adds it to what goes to its `tee`.
        """
        hook, path = "agent_extract_response", path_text(output_file)
        if self._lift and (running := self._filters[hook].extract(path, stderr=stderr)):
            with closing(running):
                return protocol.decode(b"".join(iter(running.read, b"")))
        with self.shell.start(hook, path, stderr=stderr) as job:
            return protocol.decode(b"".join(iter(job.read, b"")))

    # -- in the main shell ---------------------------------------------------------------------------

    def pre_iteration(self, *, host_streams: bool = False) -> Reply | None:
        """``agent_pre_iteration``, in the main shell; None when the script has none.

        `Reply.stdout` is what the user would have seen on the terminal: what it printed and what it logged.

        Args:
            host_streams: as in the controller: its stdin and stderr are this process's own, and the reply has no
                stderr. Default: it can read nothing, and the reply has its stderr.

        Raises:
            HookExited: it called ``exit``, which ends the session; with `state_lost`, it was an unset variable
                (under nounset) or something else that ends bash, and its globals are lost.
            HookTimeout: see there.
        """
        return self._in_main_shell("agent_pre_iteration", host_streams)

    def post_iteration(self, *, host_streams: bool = False) -> Reply | None:
        """``agent_post_iteration``; otherwise as `pre_iteration`."""
        return self._in_main_shell("agent_post_iteration", host_streams)

    def _in_main_shell(self, hook: str, host_streams: bool) -> Reply | None:
        if not self.has(hook):
            return None
        return self.shell.call(hook, stdin=0 if host_streams else None, host_stderr=host_streams)

    def context(self) -> Context:
        """What the two hooks have told about the context since `reset_context`."""
        found = [each.items.get("0") if each else None for each in self.shell.variables(_CONTEXT)]
        return Context(*found)

    def reset_context(self) -> None:
        """Empty what `context` reads, as the controller does before each iteration (not before a retry)."""
        self.shell.update(dict.fromkeys(_CONTEXT, ""))


def open_shell(
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    bash: str | None = None,
    timeout: float | timedelta | None = DEFAULT_TIMEOUT,
    provide_jq: bool = True,
) -> Shell:
    """A bash as the controller has it before it sources anything: its options are on, and `log` is defined."""
    shell = Shell(
        env=env,
        cwd=cwd,
        bash=bash,
        timeout=timeout,
        options=OPTIONS,
        host_streams=True,
        commands=COMMANDS if provide_jq else None,
    )
    try:
        shell.execute(_LOG)
    except BaseException:
        shell.close()
        raise
    return shell


def _assignment(name: str, given: object) -> str:
    value = values.plain(name, given)
    declared = f"declare -A {protocol.check_name(name)}\n" if values.is_map(value) else ""
    return declared + protocol.assignment(name, value)


def _source(shell: Shell, path: Path, *, strict: bool) -> Reply:
    try:
        return shell.source(path, errexit=strict)
    except HookExited as error:
        if not error.state_lost:
            raise
        check_parses(path, shell.bash)
        raise HookFailed(
            f"{path}: a command at its top level failed with status {error.status}, and errexit and nounset are on",
            hook="source",
            script=str(path),
            status=error.status,
            stdout=error.stdout,
            stderr=error.stderr,
            hint='put "|| true" behind what may fail, and give variables that may be unset a default: ${NAME:-}',
        ) from None
