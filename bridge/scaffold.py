"""What ``ralph-bridge new`` writes: a script to start from, its scenarios, and what runs both in CI.

A script for a CLI that ships with a driver or an agent begins as a copy of that one; any other as the skeleton of
`features/data`, in whose comments stands what has to be looked at. The commands in the scenarios are those that the
new script builds: whoever adapts it sees in a diff what has changed.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
import textwrap
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge import resources
from bridge.contract import agent_contract, driver_contract
from bridge.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.lookup import Kind

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_CLI = re.compile(r"[\w./+@-]+", re.ASCII)
_SKELETONS = {"driver": ("my-platform", "My Platform"), "agent": ("my-agent", "My Agent")}
_SESSION, _CONTEXT = "6f1c2a9e-0b7d-4c55-9a41-3d2e8f70b1c6", "Loop #3."
_EVENTS = {
    "driver": '{"type":"result","session_id":"sid-1","result":"Done."}',
    "agent": '{"type":"tool","name":"bash"}\nnot JSON\n{"type":"assistant","text":"Done."}',
}
"""What a CLI prints that the skeletons are for."""


class NewScript(NamedTuple):
    """A script that there is not yet.

    like: the shipped script that it is a copy of; empty for the skeleton. helpers: more files beside it, by name.
    """

    kind: Kind
    name: str
    text: str
    like: str
    helpers: dict[str, bytes]


def new_script(kind: Kind, name: str, cli: str | None = None) -> NewScript:
    """Make a script that runs `cli`; None: the program of that name.

    Raises `ConfigurationError` for a name that loops don't find, or a program that is none.
    """
    _check(name, cli)
    program = cli or name
    shipped = next((path for path in _shipped(kind) if os.path.basename(program) in _programs(kind, path)), None)
    if shipped is None:
        return NewScript(kind, name, _from_skeleton(kind, name, program), "", {})
    text = shipped.read_text(encoding="utf-8")
    text = re.sub(r'(?m)(^driver_name\(\) \{\n\s*echo ")[^"]*', rf"\g<1>{name}", text)
    known = driver_contract().drivers.get(shipped.stem) if kind == "driver" else None
    helpers = known.helper_files if known is not None else ()
    return NewScript(
        kind, name, text, shipped.stem, {each: shipped.with_name(each).read_bytes() for each in helpers}
    )


def _check(name: str, cli: str | None) -> None:
    if name.endswith(".sh") and _NAME.fullmatch(name.removesuffix(".sh")):
        raise ConfigurationError(f"{name}: give the name without .sh\n  next: call it {name.removesuffix('.sh')}")
    if not _NAME.fullmatch(name) or ".." in name:
        meant = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
        hint = f"\n  next: call it {meant}" if _NAME.fullmatch(meant) and ".." not in meant else ""
        raise ConfigurationError(
            f"{name!r} is not a name that loops find: expected lower-case letters, digits, '-', '_' and '.'{hint}"
        )
    if cli is not None and not _CLI.fullmatch(cli):
        raise ConfigurationError(f"--cli {cli!r}: expected the name or the path of one program, without arguments")


def _shipped(kind: Kind) -> Iterator[Path]:
    folder = resources.shipped(f"{kind}s")
    yield from (folder / f"{name}.sh" for name in resources.scripts_in(kind, [folder]))


def _programs(kind: Kind, script: Path) -> tuple[str, ...]:
    if kind == "driver":
        return driver_contract().drivers[script.stem].cli
    return tuple(re.findall(r'(?m)^AGENT_CLI="([^"]+)"', script.read_text(encoding="utf-8")))


def _from_skeleton(kind: Kind, name: str, cli: str) -> str:
    word, label = _SKELETONS[kind]
    text = (resources.shipped("features") / "data" / f"{word}.sh").read_text(encoding="utf-8")
    text = text.replace(f'echo "{word}" # the name', f'echo "{name}" # the name').replace(word, cli)
    return text.replace(label, _label(name)) + "\n" + _more_hooks(kind, text)


def _label(name: str) -> str:
    return " ".join(part[:1].upper() + part[1:] for part in re.split(r"[-_.]+", name) if part)


def _more_hooks(kind: Kind, text: str) -> str:
    """The hooks that it doesn't have, as a comment."""
    contract = driver_contract() if kind == "driver" else agent_contract()
    lines = [f"# -- more hooks; `ralph-bridge explain {kind}_...` has the rules and an example of each --", "#"]
    for hook in contract.hooks.values():
        if f"{hook.name}()" not in text:
            first = re.split(r"(?<=\.) ", hook.doc)[0]
            lines += textwrap.wrap(f"{hook.name}: {first}", 110, initial_indent="# ", subsequent_indent="#     ")
    return "\n".join(lines) + "\n"


def feature(script: NewScript) -> str:
    """Its scenarios, in Gherkin; it is run to see what it does (`BridgeError`: there is no bash to run it)."""
    with tempfile.TemporaryDirectory(prefix="ralph-bridge-new-") as folder:
        path = Path(folder) / f"{script.name}.sh"
        path.write_text(script.text, encoding="utf-8")
        for name, data in script.helpers.items():
            path.with_name(name).write_bytes(data)
        scenarios = _of_driver(script, path) if script.kind == "driver" else _of_agent(script)
        body = "\n\n".join(textwrap.indent(scenario, "  ") for scenario in scenarios)
    return (
        f"Feature: The {script.kind} {script.name}\n"
        f"  What {script.name}.sh does, said in examples: adapt both together. They are run by\n"
        f"  `ralph-bridge verify --features`, beside the scenarios of the contract, and by\n"
        f"  `pytest --ralph-{script.kind}`, each with the path of {script.name}.sh.\n\n{body}\n"
    )


def _of_driver(script: NewScript, path: Path) -> Iterator[str]:
    from bridge.verify.gherkin.example import ExampleDriver

    with closing(ExampleDriver(path, path.parent)) as driver:
        first = driver.build()
        yield _scenario("A new session", "When the command is built", f"Then the command is\n{_words(first)}")
        yield _scenario(
            "The loop says where it stands",
            f'When the command is built with the context "{_CONTEXT}"',
            f"Then the command is\n{_words(driver.build(_CONTEXT))}",
        )
        again = driver.build("", _SESSION)
        if again != first:
            when = f'When the command is built with the session "{_SESSION}"'
            yield _scenario("A session goes on", when, f"Then the command is\n{_words(again)}")
            yield _scenario(
                "Nobody wants it to go on",
                'Given CLAUDE_USE_CONTINUE is "false"',
                when,
                f"Then the command is\n{_words(first)}",
            )
    if not script.like:
        yield _scenario(
            "The session is found in what the CLI prints",
            f"Given the CLI printed\n{_text(_EVENTS['driver'])}",
            'Then the session id is "sid-1"',
        )


def _of_agent(script: NewScript) -> Iterator[str]:
    yield _scenario("The prompt", "When the agent is run", "Then the CLI gets the prompt")
    if not script.like:
        printed = f"Given the CLI printed\n{_text(_EVENTS['agent'])}"
        yield _scenario("What it said", printed, f"Then the response is\n{_text('Done.')}")
        shown = "[tool] bash\nDone."
        yield _scenario("What people see", printed, f"Then the display shows\n{_text(shown)}")


def _scenario(title: str, *steps: str) -> str:
    return f"Scenario: {title}\n" + "\n".join(textwrap.indent(step, "  ") for step in steps)


def _words(argv: list[str]) -> str:
    return _text(shlex.join(argv))


def _text(text: str) -> str:
    return textwrap.indent(f'"""\n{text}\n"""', "  ")


def workflow(kind: Kind, path: str) -> str:
    """A workflow of GitHub Actions that verifies the script at `path`, and runs its scenarios."""
    word = shlex.quote(path)
    return (
        f"name: {kind}s\n"
        "on: [push, pull_request]\n"
        "permissions: {contents: read}\n"
        "jobs:\n"
        "  verify:\n"
        "    runs-on: ubuntu-latest\n"
        "    steps:\n"
        "      - uses: actions/checkout@v5\n"
        "      - uses: actions/setup-python@v6\n"
        '        with: {python-version: "3.13"}\n'
        f"      - run: pip install '{requirement()}'\n"
        f"      - run: ralph-bridge verify {word} --strict --format github\n"
        f"      - run: ralph-bridge verify {word} --features\n"
    )


def requirement() -> str:
    """What pip installs for this ralph-bridge, with its features: the commit that it came from, or the version."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    from bridge._version import __version__

    try:
        origin = json.loads(distribution("ralph-bridge").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    if vcs := origin.get("vcs_info"):
        return f"ralph-bridge[features] @ {vcs['vcs']}+{origin['url']}@{vcs['commit_id']}"
    return f"ralph-bridge[features]=={__version__}"
