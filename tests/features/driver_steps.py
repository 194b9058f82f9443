"""Steps about a driver, as the host has it and as bash itself has it: for the scenarios that only our tests run."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from pytest_bdd import given, parsers, then, when

from bridge import errors
from bridge.errors import HookFailed
from bridge.scripts.contract import driver_contract
from bridge.scripts.driver import Driver, find
from bridge.scripts.stream.jq import Filter
from bridge.verify.recordings import recordings_of
from tests.features.driver_bench import OUTPUT, PROMPT, Built, DriverBench, decoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.scripts.session_id import Recovery
    from bridge.shell import Reply


@given("the minimal driver")
def _minimal(bench: DriverBench) -> None:
    bench.minimal()


@given("the minimal driver with")
def _minimal_with(bench: DriverBench, docstring: str) -> None:
    bench.minimal(docstring)


@given(parsers.parse("the minimal driver without {hook:w}"))
def _minimal_without(bench: DriverBench, hook: str) -> None:
    bench.minimal(without=hook)


@given(parsers.parse('the minimal driver in the folder "{folder}"'))
def _minimal_in(bench: DriverBench, folder: str) -> None:
    bench.minimal(folder=decoded(folder))


@given(parsers.parse('a file "{name}" that holds the minimal driver'))
def _minimal_as(bench: DriverBench, name: str) -> None:
    bench.minimal()
    assert bench.script is not None
    bench.script = bench.script.rename(bench.folder / name)


@given(parsers.parse('a file "{name}" that holds'))
def _file(bench: DriverBench, name: str, docstring: str) -> None:
    bench.script = bench.file(name, docstring)


@given(parsers.parse('a file "{name}" that holds "{content}"'))
def _file_of(bench: DriverBench, name: str, content: str) -> None:
    bench.script = bench.file(name, decoded(content) + "\n")


@given(parsers.parse('a folder "{name}"'))
def _folder(bench: DriverBench, name: str) -> None:
    bench.script = bench.folder / name
    bench.script.mkdir(parents=True)


@given(parsers.parse('the path "{name}"'))
def _path(bench: DriverBench, name: str) -> None:
    bench.script = bench.folder / name


@given(parsers.parse('a prompt file "{name}" that says "{text}"'))
def _prompt(bench: DriverBench, name: str, text: str) -> None:
    bench.file(name, text + "\n")
    bench.prompt_text = text


@given(parsers.re(r'(?P<name>[A-Z_]+) is "(?P<value>.*)"'))
def _set(bench: DriverBench, name: str, value: str) -> None:
    if name in ("OS", "OSTYPE", "LOCALAPPDATA"):
        bench.env[name] = value
    else:
        bench.set(name, value)


@given(parsers.re(r"these texts, where .*"))
def _texts(bench: DriverBench, datatable: list[list[str]]) -> None:
    bench.texts = {name: decoded(text) for name, text in datatable[1:]}


@given(parsers.parse('a stand-in "{name}" that runs'))
def _stand_in(bench: DriverBench, name: str, docstring: str) -> None:
    bench.stand_in(name, docstring)


@given("a stand-in for the CLI that runs")
def _stand_in_for_cli(bench: DriverBench, docstring: str) -> None:
    bench.stand_in(bench.cli_name(), docstring)


@given("a stand-in for the CLI that prints nothing")
def _silent_stand_in(bench: DriverBench) -> None:
    bench.stand_in(bench.cli_name(), ":")


@given("the CLI is not installed")
def _not_installed(bench: DriverBench) -> None:
    bench.remove_stand_ins()


@given("the CLI printed")
def _printed(bench: DriverBench, docstring: str) -> None:
    bench.file(OUTPUT, docstring + "\n")


@given("the recorded events of the CLI")
def _recorded(bench: DriverBench) -> None:
    bench.recorded = b"".join(recordings_of(bench.cli_name())[0].lines)


@when("the driver is loaded")
def _load(bench: DriverBench) -> None:
    bench.load_from(bench.load)


@when(parsers.re(r'the driver called "(?P<name>.*)" is loaded'))
def _load_named(bench: DriverBench, name: str) -> None:
    def load() -> Driver:
        bench.script = find(name, [bench.folder / "drivers"])
        return bench.load()

    bench.load_from(load)


def _call(bench: DriverBench, hook: str, *arguments: str) -> None:
    bench.reply = bench.driver.shell.call(hook, *arguments, changes=True)
    bench.replies.append(bench.reply)


@when(parsers.re(r"(?P<hook>driver_\w+) is called( again)?"))
def _hook(bench: DriverBench, hook: str) -> None:
    _call(bench, hook)


@when(parsers.parse("{hook:w} is called with {arguments}"))
def _hook_with(bench: DriverBench, hook: str, arguments: str) -> None:
    _call(bench, hook, *([] if arguments == "nothing" else shlex.split(arguments)))


_WITH = r'( with the context "(?P<context>[^"]*)")?( (with|and) the session "(?P<session>[^"]*)")?'


@when(parsers.re(rf"the command is built{_WITH}"))
def _build(bench: DriverBench, context: str | None, session: str | None) -> None:
    bench.build(PROMPT, *([decoded(context or ""), session or ""] if context or session else []))


@when(parsers.re(r'the command is built for the prompt file "(?P<path>.*)"'))
def _build_for(bench: DriverBench, path: str) -> None:
    bench.build(path)


@when("the same command is built again")
def _build_again(bench: DriverBench) -> None:
    bench.build(*bench.built_with)


@when(parsers.re(r'(?P<name>[A-Z_]+) becomes "(?P<value>.*)"'))
def _becomes(bench: DriverBench, name: str, value: str) -> None:
    bench.set(name, value)


@when(parsers.re(r"the live command is prepared( again)?"))
def _prepare(bench: DriverBench) -> None:
    bench.prepare()


@when("the session id is looked for")
def _look(bench: DriverBench) -> None:
    bench.look_for_id()


@when(parsers.parse('the session id is looked for in "{name}"'))
def _look_in(bench: DriverBench, name: str) -> None:
    bench.look_for_id(name)


def show(bench: DriverBench, data: bytes) -> None:
    """Put lines through the driver's filter, as the loop does."""

    def filtered() -> None:
        bench.shown = b"".join(Filter(bench.driver.stream_filter()).stream(data.splitlines(keepends=True)))

    bench.attempt(filtered)


@when("these lines are shown live")
def _show(bench: DriverBench, docstring: str) -> None:
    show(bench, docstring.encode())


@when("the recording is shown live with this line in its middle")
def _show_broken(bench: DriverBench, docstring: str) -> None:
    lines = bench.recorded.splitlines(keepends=True)
    lines.insert(len(lines) // 2, decoded(docstring).encode("utf-8", "surrogateescape") + b"\n")
    show(bench, b"".join(lines))


@when(parsers.parse("the command is built with each text as {place}"))
def _build_each(bench: DriverBench, place: str) -> None:
    bench.each = {name: _built_with(bench, place, text) for name, text in bench.texts.items()}


@when(parsers.parse("the live command is prepared with each text as the {place}"))
def _prepare_each(bench: DriverBench, place: str) -> None:
    bench.each.clear()
    for name, text in bench.texts.items():
        arguments = _arguments(bench, f"the {place}", text)
        bench.build(*arguments)
        assert bench.last_command()
        bench.prepare()
        bench.each[name] = Built(
            text, bench.last_live(), bench.live_of_bash(*arguments), bench.carries_prompt(bench.last_live())
        )


def _built_with(bench: DriverBench, place: str, text: str) -> Built:
    arguments = _arguments(bench, place, text)
    bench.build(*arguments)
    command = bench.last_command()
    return Built(text, command, bench.command_of_bash(*arguments), bench.carries_prompt(command))


def _arguments(bench: DriverBench, place: str, text: str) -> tuple[str, ...]:
    match place:
        case "the context":
            return PROMPT, text
        case "the session":
            return PROMPT, "", text
        case "the fourth argument":
            return PROMPT, "", "", text
        case "the prompt":
            bench.prompt_text = text
            bench.file(PROMPT, text)
        case "the name of the prompt file":
            name = f"prompts/{text.replace('/', '_')}.md"
            bench.file(name, bench.prompt_text)
            return (name,)
        case _:
            bench.set(place, text)
    return (PROMPT,)


@when("the session id is looked for in an output with each text as its name")
def _look_each(bench: DriverBench) -> None:
    for text in bench.texts.values():
        name = text.replace("/", "_")
        bench.file(name, '{"session_id":"s-1"}\n')
        bench.look_for_id(name)
        assert bench.recovery is not None
        bench.answers[text] = bench.recovery.session_id


@when(parsers.parse("the help on refused permissions is asked for with each text as {name}"))
def _help_each(bench: DriverBench, name: str) -> None:
    for text in bench.texts.values():
        bench.set(name, text)
        bench.answers[text] = bench.driver.permission_denial_help()


@then("it says why on stderr")
def _says_why(bench: DriverBench) -> None:
    error = bench.expect_error()
    assert isinstance(error, HookFailed)
    assert error.stderr.strip()
    assert bench.built_with[0] in error.stderr


@then("the command is empty")
def _empty(bench: DriverBench) -> None:
    assert bench.last_command() == []


@then("the command is what bash itself yields")
def _as_bash(bench: DriverBench) -> None:
    assert bench.last_command() == bench.command_of_bash(*bench.built_with)


@then("the command is")
def _is(bench: DriverBench, docstring: str) -> None:
    assert bench.last_command() == shlex.split(docstring)


@then(parsers.parse('its program is the file "{name}" beside the script'))
def _program_beside(bench: DriverBench, name: str) -> None:
    assert bench.script is not None
    assert bench.last_command()[0] == str(bench.script.parent / name)


@then(parsers.parse('its second word is the stand-in "{name}"'))
def _second(bench: DriverBench, name: str) -> None:
    assert bench.last_command()[1] == str(bench.bin / name)


@then(parsers.parse('"{text}" reaches the program'))
def _reaches(bench: DriverBench, text: str) -> None:
    assert [argument for argument in bench.last_command()[1:] if text in argument]


@then(parsers.parse('nothing of "{text}" is in the command'))
def _not_in(bench: DriverBench, text: str) -> None:
    assert [argument for argument in bench.last_command() if text in argument] == []


@then("both commands are the same")
def _same(bench: DriverBench) -> None:
    assert bench.last_command() == bench.commands[-2]


@then(parsers.parse('the command has "{option}" followed by "{value}"'))
def _option(bench: DriverBench, option: str, value: str) -> None:
    assert _followed(bench.last_command(), option) == value


def _followed(command: list[str], option: str) -> str:
    return command[command.index(option) + 1]


@then(parsers.parse('the tools after "{option}" are: {tools}'))
def _tools_after(bench: DriverBench, option: str, tools: str) -> None:
    wanted = shlex.split(tools)
    start = bench.last_command().index(option) + 1
    assert bench.last_command()[start : start + len(wanted)] == wanted
    assert bench.last_command()[start + len(wanted)].startswith("-"), "and no more tools"


@then("the session adds this to the command")
def _added(bench: DriverBench, datatable: list[list[str]]) -> None:
    [(_, added, before)] = [row for row in datatable if row[0] == bench.driver.name()]
    with_session = bench.last_command()
    bench.build(PROMPT)
    plain = bench.last_command()
    [word] = shlex.split(before)
    place = plain.index(word)
    assert with_session == [*plain[:place], *shlex.split(added), *plain[place:]]


@then("the live command is what bash itself yields")
def _live_as_bash(bench: DriverBench) -> None:
    assert bench.last_live() == bench.live_of_bash(*bench.built_with)


@then("the live command is")
def _live_is(bench: DriverBench, docstring: str) -> None:
    assert bench.last_live() == shlex.split(docstring)


@then("the live command is the built command")
def _live_is_built(bench: DriverBench) -> None:
    assert bench.last_live() == bench.last_command()


@then("LIVE_CMD_ARGS is a copy of CLAUDE_CMD_ARGS")
def _copy(bench: DriverBench) -> None:
    assert bench.driver.shell["LIVE_CMD_ARGS"] == bench.driver.shell["CLAUDE_CMD_ARGS"] == bench.last_command()


@then("apart from the format every word of the built command is still there, in order")
def _all_there(bench: DriverBench) -> None:
    built = bench.last_command()
    place = built.index("--output-format") + 1
    wanted = [*built[:place], "stream-json", *built[place + 1 :]]
    rest = iter(bench.last_live())
    assert [word for word in wanted if word not in rest] == []


@then(parsers.parse('the live command has "{option}" followed by "{value}"'))
def _live_option(bench: DriverBench, option: str, value: str) -> None:
    assert _followed(bench.last_live(), option) == value


@then(parsers.re("each (live )?command is what bash itself yields"))
def _each_as_bash(bench: DriverBench) -> None:
    assert [name for name, built in bench.each.items() if built.command != built.of_bash] == []


@then("each text reaches the program")
def _each_reaches(bench: DriverBench) -> None:
    assert [n for n, built in bench.each.items() if not any(built.text in a for a in built.command[1:])] == []


@then("each text is one argument of the command")
def _each_is_argument(bench: DriverBench) -> None:
    assert [name for name, built in bench.each.items() if built.text not in built.command] == []


@then("the prompt reaches the program each time")
def _each_prompt(bench: DriverBench) -> None:
    assert [name for name, built in bench.each.items() if not built.prompted] == []


@then("each text is in the help")
def _each_in_help(bench: DriverBench) -> None:
    shown = bench.answers
    assert [text for text, help_text in shown.items() if text not in (help_text or "")] == []


@then("nothing was evaluated")
def _nothing_evaluated(bench: DriverBench) -> None:
    assert list(bench.litter()) == []


_REFUSALS: dict[str, tuple[type[errors.BridgeError], ...]] = {
    "an unknown driver": (errors.UnknownDriver,),
    "a violation of the contract": (errors.ContractViolation,),
    "no bash script": (errors.ScriptInvalid,),
    "not found": (errors.ScriptNotFound, errors.OutputNotFound),
    "a wrong configuration": (errors.ConfigurationError,),
}
_SUPPORTS = {
    "tool allowlists": "supports_tool_allowlist",
    "sessions": "supports_sessions",
    "live output": "supports_live_output",
}


@then(parsers.parse("it is refused as {what}"))
def _refused(bench: DriverBench, what: str) -> None:
    assert isinstance(bench.expect_error(), _REFUSALS[what])


@then(parsers.parse("it is refused because it exited with status {status:d}"))
def _exited(bench: DriverBench, status: int) -> None:
    error = bench.expect_error()
    assert isinstance(error, errors.HookExited)
    assert error.status == status


@then(parsers.parse("{hook:w} fails with status {status:d}"))
@then(parsers.parse("it is refused because {hook:w} failed with status {status:d}"))
def _failed(bench: DriverBench, hook: str, status: int) -> None:
    error = bench.expect_error()
    assert isinstance(error, errors.HookFailed)
    assert (error.hook, error.status) == (hook, status)


@then(parsers.parse('the message says "{text}"'))
def _message(bench: DriverBench, text: str) -> None:
    assert text in str(bench.expect_error())


@then("loading it printed nothing")
def _quiet(bench: DriverBench) -> None:
    assert bench.script is not None
    reply = bench.driver.shell.source(bench.script)
    assert (reply.status, reply.stdout, reply.stderr) == (0, "", "")


@then("loading it set no global that the contract does not know")
def _no_globals(bench: DriverBench) -> None:
    assert bench.script is not None
    before = bench.driver.shell.snapshot()
    bench.driver.shell.source(bench.script)
    changes = before.changes(bench.driver.shell.snapshot())
    assert {*changes.added, *changes.changed, *changes.removed} <= set(driver_contract().globals)
    assert set(before) - _bare(bench) <= set(driver_contract().globals)


def _bare(bench: DriverBench) -> set[str]:
    """Names of the globals of a bash without a driver."""
    from bridge.shell import Shell

    with Shell(env=bench.env, cwd=bench.folder) as shell:
        return set(shell.snapshot())


@then(parsers.parse("{name:w} is what {hook:w} prints"))
def _is_what_it_prints(bench: DriverBench, name: str, hook: str) -> None:
    assert bench.driver.shell[name] == bench.driver.shell.call(hook).stdout.rstrip("\n")


@then(parsers.parse('{name:w} is the path "{path}"'))
def _is_path(bench: DriverBench, name: str, path: str) -> None:
    assert bench.driver.shell[name] == str(bench.folder / path)


@then(parsers.parse("{name:w} has at least one element"))
def _has_elements(bench: DriverBench, name: str) -> None:
    value = bench.driver.shell[name]
    assert isinstance(value, list)
    assert value


@then("no function looks like a misspelt hook")
def _no_misspelt(bench: DriverBench) -> None:
    contract = driver_contract()
    helpers = {name for driver in contract.drivers.values() for name in driver.helpers}
    unknown = {f for f in bench.driver.shell.functions() if f.startswith("driver_")} - {*contract.names, *helpers}
    assert {name: meant for name in unknown if (meant := contract.suggest(name))} == {}


@then(parsers.parse('{hook:w} prints "{text}"'))
def _prints(bench: DriverBench, hook: str, text: str) -> None:
    assert bench.driver.shell.call(hook).stdout == text + "\n"


def _reply(bench: DriverBench) -> Reply:
    assert bench.reply is not None, "no hook was called"
    return bench.reply


@then(parsers.parse('it prints one line that is "{text}"'))
def _one_line(bench: DriverBench, text: str) -> None:
    assert _reply(bench).stdout == text + "\n"


@then("both calls answered the same")
def _same_answers(bench: DriverBench) -> None:
    first, second = bench.replies
    assert first[:3] == second[:3]


@then(parsers.parse("it changed no global except {names}"))
def _changed(bench: DriverBench, names: str) -> None:
    assert _changed_by(_reply(bench)) <= (set() if names == "none" else {names})


def _changed_by(reply: Reply) -> set[str]:
    assert reply.changes is not None
    return {*reply.changes.added, *reply.changes.changed, *reply.changes.removed}


@then(parsers.parse("the valid tools are {tools}"))
def _tools_are(bench: DriverBench, tools: str) -> None:
    assert bench.driver.valid_tools() == re.findall(r'"([^"]*)"', tools)


@then(parsers.re(r"it (?P<does>supports|does not support) (?P<what>.*)"))
def _supports(bench: DriverBench, does: str, what: str) -> None:
    assert getattr(bench.driver, _SUPPORTS[what])() is (does == "supports")


@then(parsers.parse("{hook:w} is there, but not the script's own"))
def _is_default(bench: DriverBench, hook: str) -> None:
    assert (bench.driver.has(hook), bench.driver.is_own(hook)) == (True, False)


@then(parsers.parse("{hook:w} is the script's own"))
def _is_own(bench: DriverBench, hook: str) -> None:
    assert (bench.driver.has(hook), bench.driver.is_own(hook)) == (True, True)


@then(parsers.parse("{hook:w} is absent"))
def _is_absent(bench: DriverBench, hook: str) -> None:
    assert not bench.driver.has(hook)


@then(parsers.parse('its help on refused permissions is "{text}"'))
def _help_is(bench: DriverBench, text: str) -> None:
    assert bench.driver.permission_denial_help() == text + "\n"


@then(parsers.parse('its help on refused permissions names "{name}" and "{rc}"'))
def _help_names(bench: DriverBench, name: str, rc: str) -> None:
    _in_help(bench, (name, rc))


@then(parsers.parse('its help on refused permissions names the driver\'s display name and "{rc}"'))
def _help_names_display_name(bench: DriverBench, rc: str) -> None:
    _in_help(bench, (bench.driver.display_name(), rc))


def _in_help(bench: DriverBench, texts: Sequence[str]) -> None:
    text = bench.driver.permission_denial_help()
    assert [each for each in texts if each not in text] == []


@then("it is unknown which version is needed")
def _unknown_version(bench: DriverBench) -> None:
    assert bench.driver.min_version() is None


@then("it is unknown whether the program is installed")
def _unknown_availability(bench: DriverBench) -> None:
    assert bench.driver.check_available() is None


@then(parsers.parse("version {version} or newer is needed"))
def _version(bench: DriverBench, version: str) -> None:
    assert bench.driver.min_version() == version


@then(parsers.re(r"the program is (?P<there>installed|not installed)"))
def _installed(bench: DriverBench, there: str) -> None:
    assert bench.driver.check_available() is (there == "installed")


@then("its capabilities are those of its row")
def _row(bench: DriverBench, datatable: list[list[str]]) -> None:
    head, *rows = datatable
    [row] = [dict(zip(head, row, strict=True)) for row in rows if row[0] == bench.driver.name()]
    driver = bench.driver
    assert driver.supports_tool_allowlist() is (row["allowlist"] == "yes")
    assert driver.supports_sessions() is (row["sessions"] == "yes")
    assert driver.supports_live_output() is (row["live output"] == "yes")
    assert _own_session_hooks(bench) == row["own session hooks"]
    assert _live_command(bench) == row["live command"]
    bench.row = row


def _own_session_hooks(bench: DriverBench) -> str:
    hooks = {"extract": "driver_extract_session_id_from_output", "fallback": "driver_fallback_session_id"}
    return " and ".join(name for name, hook in hooks.items() if bench.driver.has(hook)) or "none"


def _live_command(bench: DriverBench) -> str:
    if not bench.driver.has("driver_prepare_live_command"):
        return "absent"
    bench.build(".ralph/PROMPT.md")
    bench.prepare()
    return "passthrough" if bench.last_live() == bench.last_command() else "transform"


@then("the contract's data has the same row")
def _same_row(bench: DriverBench) -> None:
    data = driver_contract().drivers[bench.driver.name()]
    hooks = [name for name, has in (("extract", data.extracts_session_id), ("fallback", data.falls_back)) if has]
    assert bench.row == {
        "driver": data.name,
        "allowlist": "yes" if data.allowlist else "no",
        "sessions": "yes" if data.sessions else "no",
        "live output": "yes" if data.live_output else "no",
        "live command": data.live,
        "filter": data.filter,
        "own session hooks": " and ".join(hooks) or "none",
        "binary": data.binary,
    }


@then("nothing is shown")
def _nothing(bench: DriverBench) -> None:
    assert bench.shown == b""


@then("this is shown")
def _this(bench: DriverBench, docstring: str) -> None:
    assert _text(bench).rstrip("\n") == docstring


@then("what is shown is what the recording shows")
def _as_recorded(bench: DriverBench) -> None:
    lines = bench.recorded.splitlines(keepends=True)
    assert bench.shown == b"".join(Filter(bench.driver.stream_filter()).stream(lines))
    assert bench.shown


@then(parsers.parse('the filter is "{program}"'))
def _filter(bench: DriverBench, program: str) -> None:
    assert bench.driver.stream_filter() == program


def _text(bench: DriverBench) -> str:
    assert bench.shown is not None, "nothing was put through the filter"
    return bench.shown.decode()


def _recovery(bench: DriverBench) -> Recovery:
    assert bench.recovery is not None, "no session id was looked for"
    return bench.recovery


@then(parsers.parse('the session id is "{session_id}", found by the {step:w} step'))
def _found(bench: DriverBench, session_id: str, step: str) -> None:
    found = _recovery(bench)
    assert (found.session_id, found.step) == (session_id, step)


@then("there is no session id")
def _none(bench: DriverBench) -> None:
    assert _recovery(bench).session_id is None


@then(parsers.parse('"{text}" was passed over'))
def _passed_over(bench: DriverBench, text: str) -> None:
    assert text in _recovery(bench).rejected


@then(parsers.parse("the {step:w} step gives nothing"))
def _step_gives_nothing(bench: DriverBench, step: str) -> None:
    ask = {"driver": bench.driver.extract_session_id, "fallback": bench.driver.fallback_session_id}[step]
    assert ask(OUTPUT) is None


@then("the driver step gave nothing")
def _driver_gave_nothing(bench: DriverBench) -> None:
    assert bench.driver.extract_session_id(OUTPUT) is None
    assert _recovery(bench).step != "driver"


@then(parsers.parse('the session id "{session_id}" is found each time'))
def _each_time(bench: DriverBench, session_id: str) -> None:
    assert set(bench.answers.values()) == {session_id}
