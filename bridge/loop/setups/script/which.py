"""Which script of a project is its loop: files of usual names that call a coding CLI for an answer. None is run."""

from __future__ import annotations

import os
import re
import shutil
import stat
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.clis import find_cli
from bridge.base.files import ANYWHERE, read_bytes, stays_inside
from bridge.base.resources import os_text
from bridge.base.wording import one_line, plural
from bridge.errors import BridgeError, ConfigurationError
from bridge.loop.setups import standin
from bridge.loop.setups.prompted.files import own_script
from bridge.loop.setups.script.calls import RUNNERS, form_of
from bridge.loop.setups.script.layout import usual
from bridge.loop.setups.script.past_path import CHANGES_PATH
from bridge.loop.setups.script.process import interpreter_of
from bridge.loop.setups.script.strings import Spoken, assigned, behind, in_command, in_program, in_recipes
from bridge.loop.setups.setup_kind import Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tree_sitter import Node

    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.script.reading import Call, Script
    from bridge.loop.setups.setup_kind import Adopted

NAME, SEVERAL = "script", "several"
_MAKERS = {"make": "make", "gmake": "make", "just": "make"}
_READERS = {"make": in_recipes, "program": in_program}
"""How scripts are read that aren't a shell's."""
_SHELLS = re.compile(rb"#![^\n]*\b(?:ba|da|a)?sh\b")
_OTHER = re.compile(r"[\w.-]+\.(?:ba)?sh\b")
_PUT_IN = re.compile(r"\$\{[^}]*\}|\$\(.*\)|\$\w+|`[^`]*`", re.DOTALL)
_MOST = 60
_UNKNOWN = "\N{HORIZONTAL ELLIPSIS}"
_SPREADS = ("simple_expansion", "expansion", "command_substitution")
_READS = ("source", ".")
_STARTS = ("bash", "sh", "exec", "nohup", "timeout", "env")


class Seen(NamedTuple):
    """A call of a coding CLI, as a script's text shows it.

    Attributes:
        file: in which it stands, and its line there, from 1.
        text: as it stands, on one line.
        program: which CLI.
        turn: whether the host answers it as a turn; False: the CLI itself does; None: only its run tells.
        boxed: it is started in a container, where no host is behind it.
        looped: it stands in a loop, or in a function.
        path: the program is named by a path, past PATH.
        words: behind its name; None: only its run tells.
    """

    file: Path
    line: int
    text: str
    program: str
    turn: bool | None
    looped: bool
    path: bool
    boxed: bool = False
    words: tuple[str | None, ...] = ()

    def fits(self, argv: Sequence[str]) -> bool:
        """Whether a call that was made may be this one: all words that show are among its own, in this order."""
        left = iter(argv[1:])
        known = [each for each in self.words if each is not None]
        form = form_of(argv, terminal=False)
        same = form is not None and form.cli.programs[0] == self.program
        return same and all(any(each == word for each in left) for word in known)

    @property
    def names(self) -> tuple[str, ...]:
        """Under which its program may be installed; none: that is fetched."""
        cli = find_cli(self.program)
        return () if cli is None or RUNNERS.keys() & {*self.text.split()} else cli.programs

    @property
    def is_turn(self) -> bool:
        return self.turn is not False


class Unseen(NamedTuple):
    """What of a script's text doesn't show which CLI is called, or how."""

    line: int
    what: str


@dataclass(frozen=True)
class LoopScript:
    """A script as its text shows it, with those that it sources and starts."""

    path: Path
    project: Path
    known: dict[str, LoopScript] = field(default_factory=dict, repr=False, compare=False)
    """Scripts that were read already, by their real paths."""

    @cached_property
    def script(self) -> Script:
        from bridge.loop.setups.script.reading import Script

        return Script(own_script(self.path), self.project)

    @property
    def own(self) -> list[Seen]:
        """The calls in its own text, in order."""
        return self.listed(values=bool(self.doubts))

    def listed(self, *, values: bool) -> list[Seen]:
        """The calls in its own text, in order; with `values`, those in its variables, which may be what is run."""
        spoken = map(self._spoken, assigned(self.script.text)) if values and self.language == "shell" else ()
        return sorted((*self._commanded, *spoken), key=lambda seen: seen.line)

    @cached_property
    def _commanded(self) -> list[Seen]:
        if (read := _READERS.get(self.language)) is not None:
            return [self._spoken(each) for each in read(self.script.text)]
        found = []
        for node, words in self.script.commands:
            if (call := self.script.call_of(node, words)) is not None:
                found.append(_seen(self.script, self.path, node, call))
            else:
                found += self._behind(node, words)
        return found

    @cached_property
    def doubts(self) -> list[Unseen]:
        """What of its commands runs something that their own words don't show."""
        lines = {seen.line for seen in self._commanded}
        commands = self.script.commands if self.language == "shell" else ()
        found = ((node.start_point[0] + 1, _doubt(words)) for node, words in commands)
        return [Unseen(line, what) for line, what in found if what and line not in lines]

    @cached_property
    def language(self) -> str:
        """What its text is read as: ``shell``, ``make``, or another ``program``."""
        path = own_script(self.path)
        words = interpreter_of(path) if path.is_file() else ["bash"]
        names = (os.path.basename(word) for word in words if not word.startswith("-"))
        name = next((each for each in names if each != "env"), "")
        return "shell" if re.fullmatch(r"(?:ba|da|a|k|z)?sh", name) else _MAKERS.get(name, "program")

    def _behind(self, node: Node, words: list[str]) -> Iterator[Seen]:
        """The calls that a command makes which isn't one itself."""
        found = behind(words) or behind(self.script.resolved(node, words))
        for each in (found,) if found is not None else in_command(words):
            line, text = node.start_point[0] + 1, one_line(self.script.of(node), 100)
            yield Seen(self.path, line, text, each.program, True, _is_looped(node), False, words=each.words)

    def _spoken(self, each: Spoken) -> Seen:
        line = self.script.text.count("\n", 0, each.at) + 1
        return Seen(self.path, line, one_line(each.text, 100), each.program, True, True, False, words=each.words)

    @cached_property
    def parts(self) -> list[LoopScript]:
        """The scripts that it sources or starts, and those that these do, as far as they can be found."""
        found = {os.path.realpath(self.path): self}
        waiting = [self]
        while waiting and len(found) <= _MOST:
            for path in waiting.pop(0).others:
                if (real := os.path.realpath(path)) not in found:
                    each = self.known.setdefault(real, LoopScript(path, self.project, self.known))
                    found[real] = each
                    waiting.append(each)
        return [*found.values()][1:]

    @cached_property
    def others(self) -> list[Path]:
        """The scripts that its own text sources or starts, as far as they can be found."""
        paths = (self._found(name) for _, name in self._named() if name)
        return [*dict.fromkeys(path for path in paths if path is not None)]

    @cached_property
    def calls(self) -> list[Seen]:
        """All calls that can be seen: its own, then those of the others."""
        values = any(each.doubts for each in (self, *self.parts))  # one may run what another has set
        below = (seen for each in self.parts for seen in each.listed(values=values))
        return [
            *self.listed(values=values),
            *(each._replace(looped=True) for each in below),
        ]  # it may be called in a loop of this one

    @property
    def turns(self) -> list[Seen]:
        return [each for each in self.calls if each.is_turn]

    @cached_property
    def parts_paths(self) -> list[str]:
        """Where those that it sources or starts, and these do, lie in the project or would lie, relative to it."""
        paths = dict.fromkeys(path for each in (self, *self.parts) for path in each.wanted)
        found = (os.path.relpath(each, self.project) for each in paths)
        return [each for each in found if each.split("/")[0] not in ("..", ".")]

    @property
    def wanted(self) -> Iterator[Path]:
        """What its own text sources or starts: where that lies, or all places where it may come to lie."""
        for _, name in self._named():
            path = self._found(name) if name else None
            yield from [path] if path is not None else self._places(name) if name else ()

    def _named(self) -> Iterator[tuple[Node, str]]:
        """The commands that source or start another script, each with the end of its path that is text, or ''."""
        for node, words in self.script.commands if self.language == "shell" else ():
            first = os.path.basename(words[0].strip("\"'")) if words else ""
            reads = first in _READS
            for word in words[1:2] if reads else words[1:] if first in _STARTS else words[:1]:
                _, put_in, name = _PUT_IN.sub("\0", word).rpartition("\0")
                name = name.strip("\"'")
                whole = name.startswith("/") if put_in else name[:1] not in "~"
                if _OTHER.fullmatch(os.path.basename(name)) or (reads and whole):
                    yield node, name
                    break
            else:
                if reads:
                    variable = re.fullmatch(r'"?\$\{?(\w+)\}?"?', words[1]) if len(words) > 1 else None
                    names = [*self._paths(variable[1])] if variable else []
                    yield from ((node, name) for name in names or ("",))
                elif words and (variable := re.fullmatch(r'"?\$\{?(\w+)\}?"?', words[0])):
                    yield from ((node, name) for name in self._paths(variable[1]))

    def _paths(self, variable: str) -> Iterator[str]:
        """The ends of paths of scripts in the project that a variable stands for."""
        for value in re.findall(rf"(?m)^\s*(?:\w+ )?{variable}=(\S*/\S*)", self.script.text):
            name = _PUT_IN.sub("\0", value).rpartition("\0")[2].strip("\"'}")
            path = self._found(name) if name.startswith("/") else None
            if path is not None and _is_shells(path):
                yield name

    def _found(self, name: str) -> Path | None:
        for path in self._places(name):
            if path.is_file() and stays_inside(path, root=self.project):
                return path
        return None

    def _places(self, name: str) -> list[Path]:
        """Where a script of that name may lie."""
        folders = (self.path.parent, self.project, self.path.parent.parent)
        paths = [os.path.normpath(folder / name.lstrip("/")) for folder in folders]
        return [Path(each) for each in ([name] if name.startswith(f"{self.project}/") else paths)]

    @property
    def unseen(self) -> list[Unseen]:
        """What only a run would show."""
        from bridge.loop.setups.script.tree import line_of

        known = {seen.line for seen in self.own}
        found = [each for each in self.doubts if each.line not in known]
        for node, other in self._named():
            if not other or self._found(other) is None:
                found.append(Unseen(line_of(node), f"what is in {one_line(self.script.of(node), 60)}"))
        return sorted(found)


_MAY_BE_CLI = re.compile(r"cli|agent|cmd|command|claude|codex|tool|llm|runner|engine|provider|ai\b", re.IGNORECASE)


def _seen(script: Script, path: Path, node: Node, call: Call) -> Seen:
    words = call.words
    argv = [call.cli.programs[0], *(_UNKNOWN if each is None else each for each in words)]
    form = form_of(argv, terminal=not _captured(node))
    turn: bool | None = form is not None and not call.boxed
    if (
        form is None
        and not call.boxed
        and None in words
        and any(each.type in _SPREADS for each in node.named_children)
    ):
        turn = None  # an option may be in what is put in
    program = script.of(node.children[0]) if node.children else ""
    return Seen(
        path,
        call.line,
        one_line(re.sub(r"\\\n\s*", "", script.of(node)), 100),
        call.cli.programs[0],
        turn,
        call.looped,
        "/" in program and os.path.basename(program.strip("\"'")) in call.cli.programs,
        call.boxed,
        words,
    )


def _doubt(words: Sequence[str]) -> str:
    """What a command runs that its own words don't show; '': nothing."""
    name = re.fullmatch(r'"?\$\{?(\w+)(?:\[[@*]\])?\}?"?', words[0]) if words else None
    if name is not None and _MAY_BE_CLI.search(name[1]):
        return f"which program ${name[1]} is"
    if words[:1] == ["eval"]:
        return "what eval runs"
    for word, option, *given in zip(words, words[1:], words[2:], strict=False):
        if re.fullmatch(r"(?:.*/)?(?:ba|da|z)?sh", word) and re.fullmatch(r"-\w*c", option) and "$" in given[0]:
            return f"what {word} {option} runs"
    return ""


def _is_looped(node: Node) -> bool:
    up = node.parent
    while up is not None and not re.search("while|for|until|function", up.type):
        up = up.parent
    return up is not None


def _captured(node: Node) -> bool:
    """Whether its stdout goes elsewhere than to that of the script."""
    from bridge.loop.setups.script.tree import above

    inner = node
    for up in above(node):
        if up.type in ("command_substitution", "process_substitution"):
            return True
        if up.type == "pipeline" and inner != up.named_children[-1]:
            return True
        redirects = (each for each in up.children if each.type == "file_redirect")
        if up.type == "redirected_statement" and any(">" in each.type for r in redirects for each in r.children):
            return True
        inner = up
    return False


def candidates(project: Path) -> list[LoopScript]:
    """The scripts of usual names that can be the project's loop, in the order of the names; most often none.

    One that another of them starts or sources is part of that. Where some have a call in a loop, no others count.
    """
    paths: dict[str, Path] = {}
    for path in usual(project):
        if path.is_file() and stays_inside(path, root=project) and _is_ours(path) and _is_shells(path):
            paths.setdefault(os.path.realpath(path), path)
    found = []
    known: dict[str, LoopScript] = {}
    for real, path in [*paths.items()][:_MOST]:
        each = known.setdefault(real, LoopScript(path, project, known))
        try:
            if each.turns:
                found.append(each)
        except BridgeError:
            continue
    found = [each for each in found if "once" not in each.path.name] or found  # one turn, for a look
    parts = {os.path.realpath(part.path) for each in found for part in each.parts}
    whole = [each for each in found if os.path.realpath(each.path) not in parts] or found
    return [each for each in whole if any(seen.looped for seen in each.turns)] or whole


def _is_ours(path: Path) -> bool:
    """Whether nobody else can have put a script there: in ``/tmp``, say, everybody can."""
    folder = path.parent.stat()
    return not folder.st_mode & stat.S_IWOTH or path.stat().st_uid == os.geteuid()


def _is_shells(path: Path) -> bool:
    """Whether bash or sh runs it, as far as its first line says."""
    try:
        first = read_bytes(path, 200, root=ANYWHERE).partition(b"\n")[0]
    except (BridgeError, OSError):
        return False
    return not first.startswith(b"#!") or _SHELLS.match(first) is not None


def detect(folder: Path) -> Setup | None:
    """The script that is a project's loop; ``several``: there is more than one."""
    found = candidates(folder)
    if not found:
        return None
    first = found[0].path
    evidence = tuple(os.path.relpath(each.path, folder) for each in found)
    flavour = SEVERAL if len(found) > 1 else ""
    return Setup(
        NAME, folder, folder.resolve(), folder.resolve() / os.path.relpath(first, folder), evidence, flavour
    )


def setup_of(folder: Path, name: str) -> Setup:
    """The setup of a script that is named."""
    path = Path(os.path.abspath(name))
    shown = os.path.relpath(path, folder) if path.is_relative_to(folder) else str(path)
    return Setup(NAME, folder, folder.resolve(), path, (shown,))


def refuse_several(setup: Setup) -> None:
    """Refuse to choose.

    Raises:
        ConfigurationError: there are several; says which, with the calls of each.
    """
    if setup.flavour != SEVERAL:
        return
    lines = [f"{setup.project} holds several scripts that call a coding CLI"]
    for name in setup.evidence:
        turns = LoopScript(setup.project / name, setup.project).turns
        top = setup.project
        calls = (shown(each, None if each.file == top / name else top) for each in turns[:3])
        lines.append(f"{name}: {plural(len(turns), 'call')}: " + "; ".join(calls))
    likely = min(setup.evidence, key=len)
    raise ConfigurationError("\n  ".join(lines) + f"\n  next: --script {likely}")


def chosen(
    folder: Path, setup: Setup | None, options: RunOptions, tell: Callable[[str], None]
) -> tuple[Path, Path]:
    """Give the script that is to be run, and where: one that is named where its user is, another in the project.

    Raises:
        ConfigurationError: none is named, and there is none or more than one.
    """
    if options.script is not None:
        here = Path.cwd()
        return Path(os.path.abspath(os_text(options.script))), here if here.is_relative_to(folder) else folder
    if setup is None:
        raise ConfigurationError("no script is named\n  next: --script PATH")
    from bridge.loop.setups.projects import find_prompt, has_prompt

    refuse_several(setup)
    if has_prompt(folder):
        prompt = find_prompt(folder, None)
        tell(f"{setup.evidence[0]} is run, and not the plain loop with {prompt}: --setup plain runs that")
    return own_script(setup.controller), folder


def require_cli(script: Path, project: Path, env: Mapping[str, str]) -> None:
    """See that a CLI is there that a script calls, as far as its text tells.

    Raises:
        ProgramNotFound: it shows calls, and none of their programs is on PATH.
    """
    from bridge.base.process.argv import resolve

    found = LoopScript(script, project)
    if (
        found.language != "shell"
        or CHANGES_PATH.search(found.script.text)
        or not all(each.turn and each.names and not each.path for each in found.turns)
    ):
        return
    programs = dict.fromkeys(name for each in found.turns for name in each.names)
    if programs and not any(shutil.which(name, path=env.get("PATH")) for name in programs):
        resolve([next(iter(programs))], cwd=project, env=env)


def shown(seen: Seen, project: Path | None = None) -> str:
    """A call for people; `project`: with its file, as it is seen from there."""
    place = "" if project is None else f"{os.path.relpath(seen.file, project)} "
    return f"{place}line {seen.line}: {seen.text}"


def place_of(argv: Sequence[str], calls: Sequence[Seen], project: Path) -> str:
    """Say which of the calls in a text this one is; '': none of them, or any of several."""
    fits = [each for each in calls if each.is_turn and each.fits(argv)]
    return f"{os.path.relpath(fits[0].file, project)} line {fits[0].line}" if len(fits) == 1 else ""


def adopt(setup: Setup) -> Adopted:
    refuse_several(setup)
    return standin.adopt(setup.controller, NAME)


def eject(setup: Setup) -> Adopted:
    return standin.eject(setup.controller)


def called(controller: Path, words: Sequence[str]) -> tuple[Setup, RunOptions]:
    """What a stand-in at that path is to run: its original, with these words, where its user is."""
    from bridge.loop.setups.options import RunOptions
    from bridge.loop.setups.projects import project_above

    project = project_above(controller.parent)
    name = os.path.relpath(controller, project)
    setup = Setup(NAME, project, project.resolve(), controller, (name,))
    return setup, RunOptions(script=str(standin.kept(controller)), words=tuple(words), prints=True)
