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
from typing import TYPE_CHECKING, Literal, NamedTuple

from bridge.base import resources
from bridge.base.clis import find_cli
from bridge.errors import ConfigurationError
from bridge.scripts.contract import agent_contract, capital, driver_contract

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.base.clis import Cli
    from bridge.scripts.contract.scripts import ScriptKind as Kind

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_CLI = re.compile(r"[\w./+@-]+", re.ASCII)
_SKELETONS = {
    "driver": ("my-platform", "My Platform"),
    "agent": ("my-agent", "My Agent"),
    "provider": ("my_provider", "My Provider"),
}
_OWN_EVENTS = 'select(.type == "assistant") | .text'
"""What the skeleton of a provider adapter reads, for a CLI that nobody knows."""
_SESSION, _CONTEXT = "6f1c2a9e-0b7d-4c55-9a41-3d2e8f70b1c6", "Loop #3."
_EVENTS = {
    "driver": '{"type":"result","session_id":"sid-1","result":"Done."}',
    "provider": '{"type":"session","session_id":"sid-1"}\n{"type":"assistant","text":"TEXT"}'.replace(
        "TEXT", "---RALPH_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---"
    ),
    "agent": '{"type":"tool","name":"bash"}\nnot JSON\n{"type":"assistant","text":"Done."}',
}
"""What a CLI prints that the skeletons are for."""


_TITLES = {"driver": "driver", "agent": "agent", "provider": "provider adapter"}


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
    if kind == "provider":
        return _provider(name, program)
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


def _provider(name: str, cli: str) -> NewScript:
    if not re.fullmatch(r"[a-z0-9_]+", name):
        meant = re.sub(r"\W", "_", name)
        raise ConfigurationError(
            f"{name!r} can't be the name of a provider adapter, which is a part of the names of its functions\n"
            f"  next: call it {meant}"
        )
    text, known = _from_skeleton("provider", name, cli), find_cli(cli)
    if known is not None and (form := known.adapter) is not None:
        options, resume, prompt = (
            " ".join(f'"{word}"' for word in words) for words in (form.options, form.resume, form.prompt)
        )
        for old, new in (
            ('"--output" "json-lines"', options),
            ('"--session"', resume),
            ('"--prompt" ', f"{prompt} " if prompt else ""),
            ('.[] | select(.type == "assistant") | .text', form.answer),
            (".session_id // empty", f"{form.session} // empty"),
        ):
            text = text.replace(old, new)
    return NewScript("provider", name, text, "", {})


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


def _shipped(kind: Literal["driver", "agent"]) -> Iterator[Path]:
    folder = resources.shipped(f"{kind}s")
    yield from (folder / f"{name}.sh" for name in resources.scripts_in(kind, [folder]))


def _programs(kind: Kind, script: Path) -> tuple[str, ...]:
    if kind == "driver":
        return driver_contract().drivers[script.stem].cli
    return tuple(re.findall(r'(?m)^AGENT_CLI="([^"]+)"', script.read_text(encoding="utf-8")))


def _from_skeleton(kind: Kind, name: str, cli: str) -> str:
    word, label = _SKELETONS[kind]
    text = (resources.shipped("features") / "data" / f"{word}.sh").read_text(encoding="utf-8")
    if kind == "provider":
        text = text.replace(f":-{word}}}", f":-{cli}}}").replace(capital(word), capital(name)).replace(word, name)
        return text.replace(label, _label(name))
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
        scenarios = _of_agent(script) if script.kind == "agent" else _of_driver(script, path)
        body = "\n\n".join(textwrap.indent(scenario, "  ") for scenario in scenarios)
    return (
        f"Feature: The {_TITLES[script.kind]} {script.name}\n"
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
    if not script.like and (script.kind == "driver" or _OWN_EVENTS in script.text):
        yield _scenario(
            "The session is found in what the CLI prints",
            f"Given the CLI printed\n{_text(_EVENTS[script.kind])}",
            'Then the session id is "sid-1"',
            *(['And the record has exit_signal "true"'] if script.kind == "provider" else []),
        )


def recorded(script: NewScript, cli: str) -> bool:
    """Whether it is for a CLI whose output is known here, so that nobody has to record a run."""
    known = find_cli(cli)
    return script.kind == "provider" and known is not None and known.adapter is not None


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


_FROM = "RALPH_BRIDGE"
"""The variable of a repository that says where ralph-bridge comes from, as pip takes it."""


def workflow(kind: Kind, path: str) -> str:
    """A workflow of GitHub Actions that verifies the script at `path`, and runs its scenarios."""
    word = shlex.quote(path)
    return (
        f"# {_FROM} is a variable of your repository (Settings, Actions, Variables): where ralph-bridge comes\n"
        "# from, as pip takes it, such as git+https://HOST/WHO/ralph-bridge@COMMIT, or a wheel in the repository.\n"
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
        f"      - run: pip install {source()} pytest pytest-bdd\n"
        f"        env: {{{_FROM}: '${{{{ vars.{_FROM} }}}}'}}\n"
        f"      - run: ralph-bridge verify {word} --strict --format github\n"
        f"      - run: ralph-bridge verify {word} --features\n"
    )


_CHECKOUT = "actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0"
_LOOP = """\
# A loop of ralph-bridge, begun by hand (Actions, Run workflow): docs/ci.md says what each line is for.
# RALPH_BRIDGE_REPOSITORY, RALPH_BRIDGE_REF: variables of your repository (Settings, Actions, Variables), the copy
# of ralph-bridge that you trust, as WHO/NAME, and a commit of it. @KEY@: a secret of it.
name: ralph-bridge
on:
  workflow_dispatch:
    inputs:
      max-minutes: {description: Minutes that the loop may take, default: "60", required: true}
@COST_INPUT@permissions: {}
concurrency: # a second run waits for the first, and goes on where that stopped
  group: ralph-bridge-loop
  cancel-in-progress: false
jobs:
  loop:
    runs-on: ubuntu-latest
    timeout-minutes: 350
    permissions:
      contents: write # the branch
      pull-requests: write
    steps:
      - uses: @CHECKOUT@
        with: {fetch-depth: 0, persist-credentials: false}
      - uses: @CHECKOUT@
        with:
          repository: ${{ vars.RALPH_BRIDGE_REPOSITORY }}
          ref: ${{ vars.RALPH_BRIDGE_REF }}
          path: .ralph-bridge
          persist-credentials: false
      - name: Install @TITLE@
        run: @INSTALL@
      - name: Allow boxes
        run: |
          sudo apt-get update -qq && sudo apt-get install -qq -y bubblewrap || echo '::warning::no bubblewrap'
          sudo sysctl -q -w kernel.apparmor_restrict_unprivileged_userns=0 || true
      - uses: ./.ralph-bridge/run
        with:
          key-name: @KEY@
          key: ${{ secrets.@KEY@ }}
          max-minutes: ${{ inputs.max-minutes }}
@COST@@OPTIONS@"""


def loop_workflow(cli: Cli, key: str = "", *, tool: bool = False) -> str:
    """A workflow of GitHub Actions that runs the loop of its repository.

    Args:
        key: the variable with its key, and the secret of that name; '': the one that is known of it.
        tool: the loop is to use it, whatever it uses by itself.

    Raises:
        ConfigurationError: nobody knows its key, or that is no name of a variable; no driver ships for it.
    """
    name = key or cli.key
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
        wrong = f"{name!r} is no name of a variable" if name else f"{cli.title} takes the keys of several providers"
        raise ConfigurationError(
            f"{wrong}\n  next: name the variable with the key, such as --key ANTHROPIC_API_KEY"
        )
    if tool and cli.driver is None:
        raise ConfigurationError(
            f"no driver ships for {cli.title}\n  next: leave --cli out, and adapt the workflow"
        )
    cost = '      max-cost: {description: US dollars that it may cost, default: "5", required: true}\n'
    driver = cli.driver.name if tool and cli.driver else ""
    values = {
        "COST_INPUT": cost if cli.reports_cost else "",
        "COST": "          max-cost: ${{ inputs.max-cost }}\n" if cli.reports_cost else "",
        "OPTIONS": f"          options: |\n            --tool\n            {driver}\n" if driver else "",
        "CHECKOUT": _CHECKOUT,
        "TITLE": cli.title,
        "INSTALL": cli.install,
        "KEY": name,
    }
    return re.sub("@([A-Z_]+)@", lambda found: values[found[1]], _LOOP)


def source() -> str:
    """What pip installs for this ralph-bridge, as a word of a shell: the commit that it came from, or what the
    variable of the repository says."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = json.loads(distribution("ralph-bridge").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    if vcs := origin.get("vcs_info"):
        return shlex.quote(f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}")
    return f'"${_FROM}"'
