"""The rules of schema 1 that relate several keys, and the fields that have no effect in this runtime.

Descriptive fields (``description``, ``capabilities``, ``commands``, ...) do have one: ``adapter list --json`` and
:attr:`bridge.Adapter.definition` show them.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from bridge.adapters.escapes import protocol_number
from bridge.adapters.launch import first_word
from bridge.adapters.payload import takes_shell_delivery
from bridge.adapters.schema import did_you_mean, keys_of, vocabulary
from bridge.adapters.schema_model import Debugger

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from bridge.adapters.schema_model import AdapterFile, DeclaredTest

_SEMVER = re.compile(r"\d+(\.\d+){0,2}([-+][0-9A-Za-z.+-]+)?")

_URL = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)
_SPDX = re.compile(
    r"LicenseRef-[\w.-]+|0BSD|Beerware|blessing|ClArtistic|curl|Fair|FSFAP|FTL|HPND|ICU|IJG|Info-ZIP|ISC|JSON|Libpng"
    r"|MIT(-\w+)*|MirOS|MS-[PR]L|NCSA|NTP|OpenSSL|PostgreSQL|Ruby|Sleepycat|SMLNJ|StandardML-NJ|SWL|TCL|Unlicense|Vim"
    r"|W3C|WTFPL|X11|Zlib|(AFL|[AL]?GPL|GFDL|Apache|APSL|Artistic|BlueOak|BSD|BSL|BUSL|bzip2|CC0?|CDDL|CECILL|CNRI"
    r"|CPL|ECL|EFL|Elastic|EPL|EUPL|IPL|LPL|LPPL|MPL|MulanPSL|NPL|OFL|OLDAP|OSL|PHP|PSF|Python|QPL|RPL|SGI|SISSL"
    r"|SSPL|Unicode|UPL|W3C|Zend|ZPL)(-[A-Za-z]+)*-\d[\w.-]*\+?",
    re.IGNORECASE,
)
"""The families of the list's licences, those of interpreters among them: the list itself grows by the month."""


def _is_spdx(text: str) -> bool:
    words = text.replace("(", " ").replace(")", " ").split()
    joined = list(zip(words[1::2], words[2::2], strict=False))
    if len(words) % 2 == 0 or text.count("(") != text.count(")"):
        return False
    return all(
        re.fullmatch(r"[\w.-]+", word)
        if operator == "WITH"
        else operator in ("AND", "OR") and _SPDX.fullmatch(word)
        for operator, word in [("AND", words[0]), *joined]
    )


def _top(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    if adapter.version and not _SEMVER.fullmatch(adapter.version):
        yield "version", f"{adapter.version!r} is not a semantic version such as 0.1.0"
    if not adapter.process.command_template.strip():
        yield "process.command_template", "it starts nothing; expected something like '\"{shell_path}\" -i'"
    if first := first_word(adapter):
        unused = "whatever executable, executable_candidates and name say"
        yield "process.command_template", f"it has no {{shell_path}}: it starts {first!r}, {unused}"
    if adapter.homepage and not _URL.fullmatch(adapter.homepage):
        yield "homepage", f"{adapter.homepage!r} is not a URL such as https://www.example.org/"
    if adapter.license and not _is_spdx(adapter.license):
        example = "such as MIT or GPL-2.0-or-later OR BSD-2-Clause"
        yield "license", f"{adapter.license!r} is no SPDX licence expression {example}"


_PLACEHOLDERS = frozenset(
    {"shell_path", "init_invocation", "tempfile_path", "prompt_template", "pid", "guid", "temp_dir", "path"}
)


def _templates(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    for path, text in (
        ("process.command_template", adapter.process.command_template),
        ("init.init_invocation_template", adapter.init.init_invocation_template or ""),
    ):
        if text.count('"') % 2:
            yield path, "unclosed double quote: everything after it becomes one word"
        yield from _unknown(path, text, _PLACEHOLDERS)
    tempfile = adapter.input.tempfile
    for path, given, known in (
        ("input.tempfile.path_template", tempfile.path_template, ("temp_dir", "pid", "guid")),
        ("input.tempfile.invocation_template", tempfile.invocation_template, ("path",)),
        ("capabilities.cd_command", adapter.capabilities.cd_command, ("path",)),
    ):
        yield from _unknown(path, given, known)
    for name, key in keys_of(Debugger).items():
        template = getattr(adapter.commands.debugger, key.field)
        yield from _unknown(f"commands.debugger.{name}", template, ("expr", "target", "line", "file"))


def _unknown(path: str, text: str | None, known: Collection[str]) -> Iterator[tuple[str, str]]:
    for name in re.findall(r"\{([A-Za-z_]+)\}", text or ""):
        if name not in known:
            listed = did_you_mean(name, known) or f"; known: {', '.join(sorted(known))}"
            yield path, f"{{{name}}} is not a placeholder and stays as it is{listed}"


def _reserved(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    reserved = "reserved, no effect: write 0 (the host has an option for this)"
    if adapter.ready.timeout_ms:
        yield "ready.timeout_ms", reserved
    if adapter.lifecycle.ready_timeout_ms:
        yield "lifecycle.ready_timeout_ms", reserved
    if adapter.input.multiline_detect == "indent_based":
        yield "input.multiline_detect", "indent_based is reserved for version 2 of the schema"


def _init(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    init = adapter.init
    script = adapter.integration_script or init.script or init.script_resource
    if init.strategy == "shell_integration":
        if not script:
            yield "init.strategy", "shell_integration needs script_resource, script or integration_script"
        if init.delivery == "none":
            yield "init.delivery", "shell_integration needs a delivery: launch_command, pty_inject or rc_file"
        if init.hook_type == "none":
            yield "init.hook_type", "shell_integration needs a hook_type, such as preexec or prompt_function"
    if init.strategy == "marker" and not init.marker.primary:
        yield "init.marker.primary", "strategy marker needs the literal prompt"
    if init.strategy == "regex" and not adapter.prompt.primary:
        yield "prompt.primary", "init.strategy regex needs a pattern of the prompt"
    if init.strategy == "prompt_variable" and not adapter.process.prompt_template:
        yield "process.prompt_template", "init.strategy prompt_variable needs it"
    if init.delivery == "rc_file" and not (init.rc_file.dir_env_var and init.rc_file.file_name):
        yield "init.rc_file", "delivery rc_file needs both rc_file.dir_env_var and rc_file.file_name"
    if init.delivery in ("launch_command", "rc_file") and not script:
        yield "init.delivery", f"{init.delivery} has nothing to deliver: there is no script"


def _prompt(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    prompt = adapter.prompt
    if prompt.strategy == "regex" and not prompt.primary:
        yield "prompt.primary", "strategy regex needs a pattern of the prompt"
    if prompt.strategy == "marker" and not (prompt.primary or adapter.init.marker.primary):
        yield "prompt.primary", "strategy marker needs a pattern here, or init.marker.primary"
    if prompt.strategy == "regex" and (prompt.continuation is None) != (prompt.continuation_escape is None):
        given = "continuation" if prompt.continuation is not None else "continuation_escape"
        yield f"prompt.{given}", "continuation and continuation_escape only work together; one is missing"
    if prompt.group_captures and not (prompt.primary or adapter.init.marker.primary):
        yield "prompt.group_captures", "there is no prompt.primary with groups"
    if prompt.strategy != "shell_integration" and adapter.output.input_echo_strategy == "osc_boundaries":
        needs = "osc_boundaries needs prompt.strategy shell_integration; use deterministic_byte_match"
        yield "output.input_echo_strategy", needs


def _input(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    given = adapter.input
    wraps = "wrapper" in (given.multiline_detect, given.multiline_delivery)
    if wraps and not (given.multiline_wrapper.open and given.multiline_wrapper.close):
        yield "input.multiline_wrapper", "wrapper needs both open and close"
    by_file = given.multiline_delivery == "tempfile" and adapter.family != "shell"
    if by_file and not given.tempfile.invocation_template:
        yield "input.tempfile.invocation_template", "delivery tempfile needs a command that runs {path}"
    if given.tempfile.invocation_template and "{path}" not in given.tempfile.invocation_template:
        yield "input.tempfile.invocation_template", "it has no {path}"
    parens = given.balanced_parens
    if len(parens.open) != len(parens.close):
        yield "input.balanced_parens", f"{len(parens.open)} opening and {len(parens.close)} closing brackets"
    if parens.block_comment and len(parens.block_comment) != 2:
        yield "input.balanced_parens.block_comment", "expected two strings: start and end"


def _modes(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    for name, times in Counter(mode.name for mode in adapter.modes).items():
        if times > 1:
            yield "modes", f"{times} modes are called {name!r}"
    if adapter.modes and sum(mode.default for mode in adapter.modes) != 1:
        yield "modes", "exactly one mode must have default: true"
    for number, mode in enumerate(adapter.modes):
        where = f"modes[{number}]"
        if mode.nested and not mode.level_capture:
            yield f"{where}.nested", "nested: true needs level_capture, the group with the level"
        if not (mode.primary or mode.detect):
            yield where, f"mode {mode.name!r} has neither primary nor detect: it can't be recognised"
    if adapter.capabilities.auto_modes != any(mode.auto_enter for mode in adapter.modes):
        conflict = "true, but no mode has" if adapter.capabilities.auto_modes else "false, but a mode has"
        yield "capabilities.auto_modes", f"it is {conflict} auto_enter: true"


def _capabilities(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    can = adapter.capabilities
    if can.cd_command and not can.cd_command_quote:
        yield "capabilities.cd_command_quote", "cd_command needs it to quote {path}"
    if can.cd_command and "{path}" not in can.cd_command:
        yield "capabilities.cd_command", "it has no {path}"
    if can.cd_command_quote and not can.cd_command:
        yield "capabilities.cd_command_quote", "there is no cd_command"
    if adapter.signals.interrupt is None and can.interrupt:
        yield "capabilities.interrupt", "signals.interrupt is null, so this must be false"
    if can.cwd_tracking and can.cwd_format == "none":
        yield "capabilities.cwd_format", "cwd_tracking is true, so this must be posix or windows_native"
    if can.user_busy_detection_params and can.user_busy_detection != "process_polling":
        yield "capabilities.user_busy_detection_params", "only process_polling has parameters"
    if can.meta_commands and not vocabulary(adapter):
        yield "capabilities.meta_commands", "it is true, but commands names none"
    if adapter.prompt.strategy == "shell_integration" and can.shell_integration is None:
        yield "capabilities.shell_integration", "prompt.strategy is shell_integration: write osc633"


def _tests(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    names = dict.fromkeys(mode.name for mode in adapter.modes)
    listed = ", ".join(names) or "none"
    for name, times in Counter(test.name for test in adapter.tests).items():
        if times > 1:
            yield "tests", f"{times} tests are called {name!r}"
    for number, test in enumerate(adapter.tests):
        where = f"tests[{number}]"
        if missing := _untested(test):
            yield where, f"test {test.name!r} {missing}"
        if test.then_eval and not test.eval:
            yield f"{where}.then_eval", "there is no eval before it"
        for step, mode in [("", test.expect_mode)] + [
            (f".setup_sequence[{index}]", each.expect_mode) for index, each in enumerate(test.setup_sequence)
        ]:
            if mode is not None and mode not in names:
                yield f"{where}{step}.expect_mode", f"there is no mode {mode!r}; modes: {listed}"
    for mode in adapter.commands.scope:
        if mode not in names:
            yield "commands.scope", f"there is no mode {mode!r}; modes: {listed}"


def _untested(test: DeclaredTest) -> str:
    if not (test.eval or test.setup or test.setup_sequence):
        return "runs nothing: no eval, setup or setup_sequence"
    for part in (test, *test.setup_sequence):
        names = (key.field for key in keys_of(type(part)).values() if key.field.startswith("expect"))
        if any(getattr(part, name) is not None for name in names):
            return ""
    return "expects nothing: it passes whatever is printed"


def broken_rules(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    """Yield the key path and message of every rule that `adapter` breaks."""
    rules = (_top, _templates, _reserved, _init, _prompt, _input, _modes, _capabilities, _tests)
    for rule in rules:
        yield from rule(adapter)


def _markers_agree(adapter: AdapterFile) -> bool:
    markers = adapter.prompt.shell_integration.markers
    number = protocol_number(markers.prompt_start)
    given = {
        "A": markers.prompt_start,
        "B": markers.command_input_start,
        "C": markers.command_executed,
        "D": markers.command_finished,
        "P": markers.property_update,
    }
    return all(
        value in (letter, f"\x1b]633;{letter}\x07") or value.startswith(f"\x1b]{number};{letter}")
        for letter, value in given.items()
    )


def _hides_history(adapter: AdapterFile) -> bool:
    own = not (adapter.integration_script or adapter.init.script)
    script = (adapter.init.script_resource or "") if own else ""
    return adapter.family == "shell" or script.endswith((".py", ".js"))


def ignored_fields(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    """Yield the path of every field whose value has no effect here, and the reason."""
    ready, init, prompt = adapter.ready, adapter.init, adapter.prompt
    if adapter.process.line_ending not in ("\n", adapter.input.line_ending):
        yield "process.line_ending", "input.line_ending is also given, and is the one that is typed"
    if ready.wait_for and ready.wait_for_event != "custom":
        yield "ready.wait_for", "it is only used with wait_for_event: custom"
    if init.banner_injection.mode != "none" or init.banner_injection.banner_template:
        yield "init.banner_injection", "sessions have no window to show a banner in"
    if init.marker.primary and "marker" not in (init.strategy, prompt.strategy):
        yield "init.marker", "neither strategy is marker"
    if not _markers_agree(adapter):
        announced = "announcements are ESC ] NUMBER ; LETTER with the letters A, B, C, D and P"
        yield "prompt.shell_integration.markers", f"{announced}; only the number can be chosen"
    if prompt.group_captures and prompt.strategy == "shell_integration":
        yield "prompt.group_captures", "announced prompts match no pattern, so there are no groups; modes have them"
    if adapter.output.line_ending not in ("\n", "\r\n", "\r"):
        yield "output.line_ending", "output is what a terminal shows, lines joined by line feeds"
    yield from _ignored_input(adapter)
    if adapter.capabilities.user_busy_detection == "process_polling":
        yield "capabilities.user_busy_detection", "only the host types into a session, and it knows when"


def _ignored_input(adapter: AdapterFile) -> Iterator[tuple[str, str]]:
    given, wrapper = adapter.input, adapter.input.multiline_wrapper
    if given.multiline_delivery in ("heredoc", "encoded_scriptblock") and not takes_shell_delivery(adapter):
        shells = "heredoc is for POSIX shells, encoded_scriptblock for those and PowerShell"
        yield "input.multiline_delivery", f"{shells}; blocks are typed line by line"
    wraps = "wrapper" in (given.multiline_detect, given.multiline_delivery) or wrapper.trigger == "always"
    if wrapper.open and not wraps:
        yield "input.multiline_wrapper", "neither multiline_detect nor multiline_delivery is wrapper"
    if given.tempfile.history_filter and not _hides_history(adapter):
        capable = "only shells, and Python and Node.js with our integration script"
        yield "input.tempfile.history_filter", f"{capable}, can keep lines out of their history"
