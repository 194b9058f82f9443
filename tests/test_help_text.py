"""Help texts of the three kinds of parser, and command lines held against them."""

from __future__ import annotations

import pytest

from bridge.scripts.help_text import Help, Option, OptionError, option_errors, read_help

COMMANDER = """\
Usage: agent [options] [command] [prompt]

Options:
  --allowedTools, --allowed-tools <tools...>
      Comma or space-separated list of tool names
  --output-format <format>              Output format: "text" (default), or
                                        "json" (choices: "text", "json")
  -p, --print                           Print and exit
  -r, --resume [value]                  Resume a session
  -h, --help                            Display help for command

Commands:
  plugin|plugins                        Manage plugins
  mcp [options]                         Manage servers
"""
CLAP = """\
Usage: agent exec [OPTIONS] [PROMPT]

Commands:
  resume  Resume a session
  review  Review [aliases: r]

Options:
  -s, --sandbox <MODE>
          What may be done

          [possible values: read-only, workspace-write]

      --json
          Print events
"""
YARGS = """\
agent run [message..]

Commands:
  agent run [message..]        run with a message
  agent plugin <module>        install                    [aliases: plug]

Options:
  -h, --help         show help                                   [boolean]
  -s, --session      session id to continue                       [string]
      --format       format: default or json
                     [string] [choices: "default", "json"] [default: "default"]
  -f, --file         file(s) to attach                             [array]
"""


def test_commander() -> None:
    found = read_help(COMMANDER)
    assert found.options["--allowedTools"] == found.options["--allowed-tools"] == Option("several")
    assert found.options["--output-format"] == Option("value", ("text", "json"))
    assert found.options["-p"] == found.options["--print"] == Option()
    assert found.options["--resume"] == Option("optional")
    assert found.commands == {"plugin": "plugin", "plugins": "plugin", "mcp": "mcp"}


def test_clap() -> None:
    found = read_help(CLAP)
    assert found.options["-s"] == Option("value", ("read-only", "workspace-write"))
    assert found.options["--json"] == Option()
    assert found.commands == {"resume": "resume", "review": "review", "r": "review"}


def test_yargs() -> None:
    found = read_help(YARGS, "agent")
    assert found.options["--session"] == Option("value")
    assert found.options["--format"] == Option("value", ("default", "json"))
    assert found.options["--file"] == Option("several")
    assert found.options["--help"] == Option()
    assert found.commands == {"run": "run", "plugin": "plugin", "plug": "plugin"}


ARGPARSE = """\
usage: agent [-h] [--model MODEL]

options:
  -h, --help            show this help message and exit
  --model MODEL         Specify the model
  --message COMMAND, --msg COMMAND, -m COMMAND
                        Specify a single message
  --map-refresh {auto,always,files}
                        How often
  --file FILE [FILE ...]
                        Some files
  --show-diffs, --no-show-diffs
                        Show them
"""
COBRA = """\
Usage:
  agent run [prompt] [flags]

Flags:
  -c, --cwd string       Where
      --limits strings   Some
  -y, --yolo             Ask nothing
"""
BY_HAND = """\
Usage: agent [options]
\t-q\tBe quiet
  --[no-]wrap  Wrap lines
  --resume[=ID]  Go on
  -C <DIR>: where
  \x1b[1m-v\x1b[0m, \x1b[1m--verbose\x1b[0m  Be loud
"""


def test_argparse() -> None:
    found = read_help(ARGPARSE)
    value = Option("value")
    assert found.options["--model"] == found.options["--message"] == found.options["--msg"] == value
    assert found.options["-m"] == value
    assert found.options["--map-refresh"] == Option("value", ("auto", "always", "files"))
    assert found.options["--file"] == Option("several")
    assert found.options["--show-diffs"] == found.options["--no-show-diffs"] == Option()


def test_cobra() -> None:
    found = read_help(COBRA)
    assert found.options["-c"] == found.options["--cwd"] == found.options["--limits"] == Option("value")
    assert found.options["--yolo"] == Option()


def test_by_hand_and_in_colours() -> None:
    found = read_help(BY_HAND)
    assert set(found.options) == {"-q", "--wrap", "--no-wrap", "--resume", "-C", "-v", "--verbose"}
    assert found.options["--resume"] == Option("optional")
    assert found.options["-C"] == Option("value")


def test_yargs_takes_a_no_for_each_yes_or_no() -> None:
    assert "--no-help" in read_help(YARGS).options
    assert "--no-session" not in read_help(YARGS).options


@pytest.mark.parametrize("text", ["", "agent 1.2.3\n", "- one\n- two\n", "--- a rule ---\n"])
def test_what_is_no_help_has_no_options(text: str) -> None:
    assert read_help(text).options == {}


HELPS = {
    ("agent",): Help({"--verbose": Option()}, {"exec": "exec", "e": "exec"}),
    ("agent", "exec"): read_help(CLAP),
    ("agent", "exec", "resume"): Help({"--last": Option()}, {}),
}


def wrong(*argv: str) -> list[OptionError] | None:
    return option_errors(["agent", *argv], HELPS.get)


@pytest.mark.parametrize(
    "argv",
    [
        ("exec", "--json", "--sandbox", "workspace-write", "do it"),
        ("e", "--json", "do it"),
        ("exec", "--json", "resume", "--last", "do it"),
        ("exec", "--sandbox=read-only", "--", "--not-an-option"),
        ("exec", "do it", "--json"),
        ("exec", "-"),
    ],
)
def test_what_is_known_where_it_stands(argv: tuple[str, ...]) -> None:
    assert wrong(*argv) == []


def test_an_option_of_another_command_is_none_here() -> None:
    found = wrong("--json", "exec", "do it")
    assert found is not None
    assert [(each.option, each.command) for each in found] == [("--json", "agent")]


def test_an_unknown_option_is_named_with_the_likely_one() -> None:
    assert wrong("exec", "--sandboxes", "x") == [
        OptionError("--sandboxes", "agent exec", "is not an option of", "did you mean --sandbox?")
    ]


def test_a_value_that_is_not_among_the_choices() -> None:
    found = wrong("exec", "--sandbox", "full", "do it")
    assert found == [
        OptionError("--sandbox", "agent exec", "does not accept 'full' in", "it takes read-only, workspace-write")
    ]


def test_a_value_that_looks_like_an_option_is_a_value() -> None:
    found = option_errors(["a", "--say", "--nothing", "x"], lambda _: Help({"--say": Option("value")}))
    assert found == []


LETTERS = Help({"-v": Option(), "-q": Option(), "-m": Option("value"), "-long": Option("value")})


@pytest.mark.parametrize(
    ("word", "unknown"),
    [("-vq", None), ("-vmfoo", None), ("-mfoo", None), ("-m=foo", None), ("-long=x", None), ("-vz", "-z"),
     ("-z", "-z"), ("-zv", "-zv"), ("-h", None), ("--help", None), ("--version", None)],
)  # fmt: skip
def test_letters_in_one_word(word: str, unknown: str | None) -> None:
    found = option_errors(["a", word], lambda _: LETTERS)
    assert found is not None
    assert [each.option for each in found] == ([unknown] if unknown else [])


def test_an_option_that_became_a_command() -> None:
    found = wrong("exec", "--resume", "sid")
    assert found is not None
    assert found[0].hint == "it is a command: agent ... resume"


def test_behind_a_command_without_help_nothing_can_be_told() -> None:
    helps: dict[tuple[str, ...], Help] = {("a",): Help({"--x": Option()}, {"go": "go"})}
    assert option_errors(["a", "--x", "go", "--unknown"], helps.get) == []


def test_without_any_help_nothing_can_be_told() -> None:
    assert option_errors(["other", "--x"], lambda _: None) is None
    assert option_errors(["other", "--x"], lambda _: Help()) is None
