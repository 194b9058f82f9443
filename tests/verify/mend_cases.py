"""Functions with one mistake, and the same as a mend is to make them; and those that no mend may touch."""

from __future__ import annotations

import re
from typing import NamedTuple

from bridge.verify.findings import Aspect
from tests.skeletons import minimal_agent, minimal_driver


class Case(NamedTuple):
    """A function in the place of the skeleton's own. code: the check that finds it.

    line: of the function in which the problem stands, counted from 1.
    first: the first line of the script. allowlist: the driver says that it knows one. about: what the
    problem is about.
    """

    code: str
    bad: str
    good: str = ""
    line: int = 1
    first: str = ""
    allowlist: bool = False
    about: str = ""

    @property
    def hook(self) -> str:
        """The name of the function."""
        return self.bad.split("()")[0]

    def script(self, function: str) -> str:
        """The skeleton with this function instead of its own."""
        text = minimal_agent() if self.hook.startswith("agent_") else minimal_driver()
        if self.allowlist:
            text = text.replace("allowlist() {\n    return 1", "allowlist() {\n    return 0")
        changed, times = re.subn(
            rf"^{self.hook}\(\) \{{\n.*?^\}}\n", lambda _: function, text, flags=re.MULTILINE | re.DOTALL
        )
        changed = changed if times else text + function
        return changed.replace("#!/usr/bin/env bash", self.first, 1) if self.first else changed

    @property
    def offset(self) -> int:
        """The line of the script before the one in which the function begins."""
        return self.script(self.bad).split(self.bad)[0].count("\n")


_TEST = '    [[ -f "$1" ]] || { echo "none" >&2; return 1; }\n'
_OPTIONS = """    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--context" "$2"); fi
    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$3" ]]; then CLAUDE_CMD_ARGS+=("--session" "$3"); fi
"""


def _build(body: str, *, test: str = _TEST) -> str:
    return f"driver_build_command() {{\n{test}{body}}}\n"


def _plain(body: str, *, test: str = _TEST) -> str:
    return _build(f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n{body}', test=test)


MENDED = (
    Case(
        "RB133",
        'driver_prepare_live_command() {\n    LIVE_CMD_ARGS+=("${CLAUDE_CMD_ARGS[@]}")\n}\n',
        'driver_prepare_live_command() {\n    LIVE_CMD_ARGS=()\n    LIVE_CMD_ARGS+=("${CLAUDE_CMD_ARGS[@]}")\n}\n',
    ),
    Case(
        "RB030",
        _build(
            f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n{_OPTIONS}',
            test='    if [[ ! -f "$1" ]]; then echo "none" >&2; exit 1; fi\n',
        ),
        _build(
            f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n{_OPTIONS}',
            test='    if [[ ! -f "$1" ]]; then echo "none" >&2; return 1; fi\n',
        ),
        line=2,
    ),
    Case(
        "RB061",
        "driver_valid_tools() {\n    IFS=','\n    read -ra VALID_TOOL_PATTERNS <<<'Read,Write'\n}\n",
        "driver_valid_tools() {\n    local IFS=','\n    read -ra VALID_TOOL_PATTERNS <<<'Read,Write'\n}\n",
        about=Aspect.IFS,
    ),
    Case(
        "RB110",
        _build(
            '    local id="$3"\n    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n'
            '    if [[ -n "$id" ]]; then CLAUDE_CMD_ARGS+=("--session" "$id"); fi\n'
            '    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--context" "$2"); fi\n'
        ),
        _build(
            '    local id="$3"\n    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n'
            '    if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$id" ]]; then '
            'CLAUDE_CMD_ARGS+=("--session" "$id"); fi\n'
            '    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--context" "$2"); fi\n'
        ),
    ),
    Case(
        "RB110",
        _build(
            '    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n'
            '    [ -n "$3" ] && CLAUDE_CMD_ARGS+=("--session" "$3")\n'
            '    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--context" "$2"); fi\n'
        ),
        _build(
            '    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n'
            '    [ "${CLAUDE_USE_CONTINUE:-}" = "true" ] && [ -n "$3" ] && CLAUDE_CMD_ARGS+=("--session" "$3")\n'
            '    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--context" "$2"); fi\n'
        ),
    ),
    Case(
        "RB173",
        'agent_invoke() {\n    "$AGENT_CLI" --auto <"$1" 2>/dev/null\n}\n',
        'agent_invoke() {\n    "$AGENT_CLI" --auto <"$1"\n}\n',
        line=2,
    ),
    Case(
        "RB182",
        "agent_format_display() {\n"
        "    grep '^{' | jq -R -r 'fromjson? | select(.type == \"assistant\") | .text'\n}\n",
        "agent_format_display() {\n    grep --line-buffered '^{' | "
        "jq --unbuffered -R -r 'fromjson? | select(.type == \"assistant\") | .text'\n}\n",
    ),
    Case(
        "RB061",
        "driver_valid_tools() {\n    IFS=,\n    read -ra VALID_TOOL_PATTERNS <<<'Read'\n    IFS=' '\n}\n",
        "driver_valid_tools() {\n    local IFS=,\n    read -ra VALID_TOOL_PATTERNS <<<'Read'\n    IFS=' '\n}\n",
        about=Aspect.IFS,
    ),
    Case(
        "RB042",
        "agent_format_display() { jq -R -r 'fromjson? | .text? // empty'; }\n",
        "agent_format_display() { jq --unbuffered -R -r 'fromjson? | .text? // empty'; }\n",
    ),
    Case(
        "RB112",
        _build(f'    CLAUDE_CMD_ARGS+=("my-platform" "--prompt" "$1")\n{_OPTIONS}'),
        _build(
            f'    CLAUDE_CMD_ARGS+=("my-platform" "--prompt" "$1")\n{_OPTIONS}',
            test=f"    CLAUDE_CMD_ARGS=()\n{_TEST}",
        ),
    ),
)


LEFT_ALONE = {
    "another name was meant": Case("RB020", _plain('    CMD_ARGS=("$2")\n'), line=4, about="CMD_ARGS"),
    "what was in the array is used": Case(
        "RB112", _build('    CLAUDE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" "--prompt" "$1")\n')
    ),
    "exit ends a subshell": Case("RB030", _plain('    ( [[ -n "$2" ]] || exit 1 )\n'), line=4),
    "exit ends a stage of a pipeline": Case("RB030", _plain("    echo x | { read -r _; exit 1; }\n"), line=4),
    "exit ends a job": Case("RB030", _plain("    { sleep 1; exit 1; } &\n"), line=4),
    "exit ends a helper": Case("RB030", "my_helper() {\n    exit 1\n}\n", line=2),
    "IFS is set under a condition": Case("RB061", _plain('    if [[ "$2" ]]; then IFS=,; fi\n'), about=Aspect.IFS),
    "IFS is set for one command": Case("RB061", _plain("    IFS=, read -r _ <<<x\n"), about=Aspect.IFS),
    "it is not IFS": Case("RB061", _plain("    IFS=,\n"), about=Aspect.OPTIONS),
    "there is another way without id": Case(
        "RB110", _plain('    if [[ -n "$3" ]]; then CLAUDE_CMD_ARGS+=("-r" "$3"); else CLAUDE_CMD_ARGS+=(-n); fi\n')
    ),
    "the id is asked for twice": Case(
        "RB110",
        _plain('    [[ -n "$3" ]] && CLAUDE_CMD_ARGS+=("-r")\n    [[ -n "$3" ]] && CLAUDE_CMD_ARGS+=("$3")\n'),
    ),
    "it is an alternative": Case("RB110", _plain('    [[ -n "$3" ]] || CLAUDE_CMD_ARGS+=("-n")\n')),
    "the setting is asked for": Case(
        "RB110",
        _plain('    [[ "$CLAUDE_USE_CONTINUE" != false ]] && [[ -n "$3" ]] && CLAUDE_CMD_ARGS+=("-r" "$3")\n'),
    ),
    "the output is discarded, too": Case("RB173", 'agent_invoke() { "$AGENT_CLI" <"$1" &>/dev/null; }\n'),
    "another command's errors are discarded": Case(
        "RB173", 'agent_invoke() {\n    rm x 2>/dev/null\n    "$AGENT_CLI" <"$1"\n}\n', line=3
    ),
    "each line has its own program": Case(
        "RB182", 'agent_format_display() { while read -r x; do jq . <<<"$x"; done; }\n'
    ),
    "it is written for another shell": Case(
        "RB002", "driver_check_available() { :; }\n", first="#!/usr/bin/env zsh"
    ),
    "it is defined twice": Case("RB061", "driver_x() { IFS=,; }\ndriver_x() { IFS=,; }\n", about=Aspect.IFS),
}
"""No mend may touch these, whatever a check says of them."""
