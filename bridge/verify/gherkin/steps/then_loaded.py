"""Then, of loading and of single hooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_bdd import parsers, then

from bridge import errors
from bridge.contract import driver_contract
from bridge.stream.jq import Filter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.shell import Reply
    from bridge.verify.gherkin.world import World

_REFUSALS: dict[str, tuple[type[errors.BridgeError], ...]] = {
    "an unknown driver": (errors.UnknownDriver,),
    "not to contract": (errors.ContractViolation,),
    "no bash script": (errors.ScriptInvalid,),
    "not found": (errors.ScriptNotFound, errors.OutputNotFound),
    "a wrong configuration": (errors.ConfigurationError,),
}
_SHAPES = {
    "a lower-case identifier": r"[a-z0-9][a-z0-9-]*",
    "a name for people": r"\S.*\S",
    "the name or the path of a program": r"\S(.*\S)?",
    "a version": r"\d+\.\d+\.\d+",
}
_SUPPORTS = {
    "tool allowlists": "supports_tool_allowlist",
    "sessions": "supports_sessions",
    "live output": "supports_live_output",
}


# -- refusals ------------------------------------------------------------------------------------------------


@then(parsers.parse("it is refused as {what}"))
def _refused(world: World, what: str) -> None:
    assert isinstance(world.error, _REFUSALS[what])


@then(parsers.parse("it is refused because it exited with status {status:d}"))
def _exited(world: World, status: int) -> None:
    error = world.error
    assert isinstance(error, errors.HookExited)
    assert error.status == status


@then(parsers.parse("it is refused because {hook:w} failed with status {status:d}"))
def _failed(world: World, hook: str, status: int) -> None:
    error = world.error
    assert isinstance(error, errors.HookFailed)
    assert (error.hook, error.status) == (hook, status)


@then(parsers.parse('the message says "{text}"'))
def _message(world: World, text: str) -> None:
    assert text in str(world.error)


# -- loading -------------------------------------------------------------------------------------------------


@then("loading it printed nothing")
def _quiet(world: World) -> None:
    assert world.script is not None
    reply = world.driver.shell.source(world.script)
    assert (reply.status, reply.stdout, reply.stderr) == (0, "", "")


@then("loading it set no global that the contract does not know")
def _no_globals(world: World) -> None:
    assert world.script is not None
    before = world.driver.shell.snapshot()
    world.driver.shell.source(world.script)
    changes = before.changes(world.driver.shell.snapshot())
    assert {*changes.added, *changes.changed, *changes.removed} <= set(driver_contract().globals)
    assert set(before) - _bare(world) <= set(driver_contract().globals)


def _bare(world: World) -> set[str]:
    """Names of the globals of a bash without a driver."""
    from bridge.shell import Shell

    with Shell(env=world.env, cwd=world.folder) as shell:
        return set(shell.snapshot())


@then(parsers.parse("{name:w} is what {hook:w} prints"))
def _is_what_it_prints(world: World, name: str, hook: str) -> None:
    assert world.driver.shell[name] == world.driver.shell.call(hook).stdout.rstrip("\n")


@then(parsers.parse('{name:w} is the path "{path}"'))
def _is_path(world: World, name: str, path: str) -> None:
    assert world.driver.shell[name] == str(world.folder / path)


@then(parsers.parse("{name:w} has at least one element"))
def _has_elements(world: World, name: str) -> None:
    value = world.driver.shell[name]
    assert isinstance(value, list)
    assert value


@then("no function looks like a misspelt hook")
def _no_misspelt(world: World) -> None:
    contract = driver_contract()
    helpers = {name for driver in contract.drivers.values() for name in driver.helpers}
    unknown = {f for f in world.driver.shell.functions() if f.startswith("driver_")} - {*contract.names, *helpers}
    assert {name: meant for name in unknown if (meant := contract.suggest(name))} == {}


@then(parsers.parse('{hook:w} prints the name of the script without ".sh"'))
def _prints_stem(world: World, hook: str) -> None:
    assert world.script is not None
    assert world.driver.shell.call(hook).stdout == world.script.stem + "\n"


@then(parsers.parse('{hook:w} prints "{text}"'))
def _prints(world: World, hook: str, text: str) -> None:
    assert world.driver.shell.call(hook).stdout == text + "\n"


# -- one hook ------------------------------------------------------------------------------------------------


def _reply(world: World) -> Reply:
    assert world.reply is not None, "no hook was called"
    return world.reply


@then("it succeeds")
def _succeeds(world: World) -> None:
    assert _reply(world).status == 0


@then("it prints no errors")
def _no_errors(world: World) -> None:
    assert _reply(world).stderr == ""


@then(parsers.parse('it prints one line that is "{text}"'))
def _one_line(world: World, text: str) -> None:
    assert _reply(world).stdout == text + "\n"


@then(parsers.re(r"it prints one line that is (?P<shape>an? .*|the .*)"))
def _shape(world: World, shape: str) -> None:
    assert re.fullmatch(_SHAPES[shape] + "\n", _reply(world).stdout)


@then("both calls answered the same")
def _same_answers(world: World) -> None:
    first, second = world.replies
    assert first[:3] == second[:3]


@then("what it printed compiles as a jq program")
def _compiles(world: World) -> None:
    Filter(_reply(world).stdout)


@then(parsers.parse("it changed no global except {names}"))
def _changed(world: World, names: str) -> None:
    assert _changed_by(_reply(world)) <= (set() if names == "none" else {names})


@then("it printed nothing and changed nothing")
def _silent(world: World) -> None:
    for reply in world.replies:
        assert (reply.stdout, reply.stderr, _changed_by(reply)) == ("", "", set())


def _changed_by(reply: Reply) -> set[str]:
    assert reply.changes is not None
    return {*reply.changes.added, *reply.changes.changed, *reply.changes.removed}


@then("there is at least one, none is empty, and none comes twice")
def _good_tools(world: World) -> None:
    _check_tools(world.results["tools"])


@then("VALID_TOOL_PATTERNS holds each tool once")
def _tools_once(world: World) -> None:
    tools = world.driver.shell["VALID_TOOL_PATTERNS"]
    assert tools == world.results["tools"]
    _check_tools(tools)


def _check_tools(tools: object) -> None:
    assert isinstance(tools, list)
    assert tools
    assert "" not in tools
    assert len(set(tools)) == len(tools)


@then(parsers.parse("the valid tools are {tools}"))
def _tools_are(world: World, tools: str) -> None:
    assert world.driver.valid_tools() == re.findall(r'"([^"]*)"', tools)


# -- optional hooks ------------------------------------------------------------------------------------------


@then(parsers.re(r"it (?P<does>supports|does not support) (?P<what>.*)"))
def _supports(world: World, does: str, what: str) -> None:
    assert getattr(world.driver, _SUPPORTS[what])() is (does == "supports")


@then(parsers.parse("{hook:w} is there, but not the script's own"))
def _is_default(world: World, hook: str) -> None:
    assert (world.driver.has(hook), world.driver.is_own(hook)) == (True, False)


@then(parsers.parse("{hook:w} is the script's own"))
def _is_own(world: World, hook: str) -> None:
    assert (world.driver.has(hook), world.driver.is_own(hook)) == (True, True)


@then(parsers.parse("{hook:w} is absent"))
def _is_absent(world: World, hook: str) -> None:
    assert not world.driver.has(hook)


@then(parsers.parse('its help on refused permissions is "{text}"'))
def _help_is(world: World, text: str) -> None:
    assert world.driver.permission_denial_help() == text + "\n"


@then(parsers.parse('its help on refused permissions names "{name}" and "{rc}"'))
def _help_names(world: World, name: str, rc: str) -> None:
    _in_help(world, (name, rc))


@then(parsers.parse('its help on refused permissions names the driver\'s display name and "{rc}"'))
def _help_names_display_name(world: World, rc: str) -> None:
    _in_help(world, (world.driver.display_name(), rc))


def _in_help(world: World, texts: Sequence[str]) -> None:
    told = world.driver.permission_denial_help()
    assert [text for text in texts if text not in told] == []


@then("it is unknown which version is needed")
def _unknown_version(world: World) -> None:
    assert world.driver.min_version() is None


@then("it is unknown whether the program is installed")
def _unknown_availability(world: World) -> None:
    assert world.driver.check_available() is None


@then(parsers.parse("version {version} or newer is needed"))
def _version(world: World, version: str) -> None:
    assert world.driver.min_version() == version


@then(parsers.re(r"the program is (?P<there>installed|not installed)"))
def _installed(world: World, there: str) -> None:
    assert world.driver.check_available() is (there == "installed")


# -- the matrix ----------------------------------------------------------------------------------------------


@then("its capabilities are those of its row")
def _row(world: World, datatable: list[list[str]]) -> None:
    head, *rows = datatable
    [row] = [dict(zip(head, row, strict=True)) for row in rows if row[0] == world.driver.name()]
    driver = world.driver
    assert driver.supports_tool_allowlist() is (row["allowlist"] == "yes")
    assert driver.supports_sessions() is (row["sessions"] == "yes")
    assert driver.supports_live_output() is (row["live output"] == "yes")
    assert _own_session_hooks(world) == row["own session hooks"]
    assert _live_command(world) == row["live command"]
    world.results["row"] = row


def _own_session_hooks(world: World) -> str:
    hooks = {"extract": "driver_extract_session_id_from_output", "fallback": "driver_fallback_session_id"}
    return " and ".join(name for name, hook in hooks.items() if world.driver.has(hook)) or "none"


def _live_command(world: World) -> str:
    if not world.driver.has("driver_prepare_live_command"):
        return "absent"
    world.build(".ralph/PROMPT.md")
    world.prepare()
    return "passthrough" if world.live == world.command else "transform"


@then("the contract's data has the same row")
def _same_row(world: World) -> None:
    data = driver_contract().drivers[world.driver.name()]
    hooks = [name for name, has in (("extract", data.extracts_session_id), ("fallback", data.falls_back)) if has]
    assert world.results["row"] == {
        "driver": data.name,
        "allowlist": "yes" if data.allowlist else "no",
        "sessions": "yes" if data.sessions else "no",
        "live output": "yes" if data.live_output else "no",
        "live command": data.live,
        "filter": data.filter,
        "own session hooks": " and ".join(hooks) or "none",
        "binary": data.binary,
    }
