"""Functions with one mistake, and the same as a mend is to make them; and those that no mend may touch."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.skeletons import minimal_agent, minimal_driver


class Case(NamedTuple):
    """A function in the place of the skeleton's own. code: the check that finds it.

    line: of the function in which the problem stands, counted from 1. message: of the problem, where it matters.
    first: the first line of the script. allowlist: the driver says that it knows one. about: what the
    problem is about.
    """

    code: str
    bad: str
    good: str = ""
    line: int = 1
    message: str = ""
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
        "RB024",
        _build(f'    CLAUDE_CMD_ARGS+=("my-platform" "--prompt" "$1")\n{_OPTIONS}'),
        _build(
            f'    CLAUDE_CMD_ARGS+=("my-platform" "--prompt" "$1")\n{_OPTIONS}',
            test=f"    CLAUDE_CMD_ARGS=()\n{_TEST}",
        ),
    ),
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
        message="driver_valid_tools changes ifs: ','",
    ),
    Case(
        "RB077",
        "driver_supports_sessions() {\n    if [[ -n \"${HOME:-}\" ]]; then echo true; else echo 'false'; fi\n}\n",
        'driver_supports_sessions() {\n    if [[ -n "${HOME:-}" ]]; then true; else false; fi\n}\n',
    ),
    Case(
        "RB077",
        'driver_supports_sessions() { printf "true\\n"; return 0; }\n',
        "driver_supports_sessions() { true; return 0; }\n",
    ),
    Case(
        "RB077",
        "driver_check_available() {\n    type -t cat && command -v my-platform || ! which cat >/dev/null\n}\n",
        "driver_check_available() {\n    type -t cat >/dev/null 2>&1 && "
        "command -v my-platform >/dev/null 2>&1 || ! which cat >/dev/null\n}\n",
    ),
    Case(
        "RB100",
        _build(
            f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n{_OPTIONS}'
            '    [[ -n "${MY_MODEL:-}" ]] && CLAUDE_CMD_ARGS+=("--model" "$MY_MODEL")\n'
        ),
        _build(
            f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n{_OPTIONS}'
            '    if [[ -n "${MY_MODEL:-}" ]]; then CLAUDE_CMD_ARGS+=("--model" "$MY_MODEL"); fi\n'
        ),
    ),
    Case(
        "RB100",
        _plain(
            '    [[ -n "$2" ]] && CLAUDE_CMD_ARGS+=("--context" "$2")\n'
            '    [[ "${CLAUDE_USE_CONTINUE:-}" == true ]] && [[ -n "$3" ]] &&\n'
            '        CLAUDE_CMD_ARGS+=("--session" "$3")\n'
        ),
        _plain(
            '    [[ -n "$2" ]] && CLAUDE_CMD_ARGS+=("--context" "$2")\n'
            '    if [[ "${CLAUDE_USE_CONTINUE:-}" == true ]] && [[ -n "$3" ]]; then '
            'CLAUDE_CMD_ARGS+=("--session" "$3"); fi\n'
        ),
    ),
    Case(
        "RB080",
        'driver_display_name() { echo Mine; [ -n "${NO_SUCH:-}" ] && echo "$NO_SUCH" >&2; }\n',
        'driver_display_name() { echo Mine; if [ -n "${NO_SUCH:-}" ]; then echo "$NO_SUCH" >&2; fi; }\n',
    ),
    Case(
        "RB184",
        'agent_post_iteration() {\n    [[ -n "${NO_SUCH:-}" ]] && log "x" # if wanted\n}\n',
        'agent_post_iteration() {\n    if [[ -n "${NO_SUCH:-}" ]]; then log "x"; fi # if wanted\n}\n',
    ),
    Case(
        "RB101",
        _build(
            '    local file="$1" text\n    CLAUDE_CMD_ARGS=()\n    text=$(cat "$file")\n'
            f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$text")\n{_OPTIONS}',
            test="",
        ),
        _build(
            '    local file="$1" text\n    CLAUDE_CMD_ARGS=()\n'
            '    [[ -f "$file" ]] || { echo "driver_build_command: no prompt: $file" >&2; return 1; }\n'
            f'    text=$(cat "$file")\n    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$text")\n{_OPTIONS}',
            test="",
        ),
        message="it returns 0 for a prompt that isn't there",
    ),
    Case(
        "RB105",
        _build(
            '    local text\n    text=$(cat "$1")\n    CLAUDE_CMD_ARGS=("my-platform" "--prompt" $text)\n'
            + _OPTIONS
        ),
        _build(
            '    local text\n    text=$(cat "$1")\n    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$text")\n'
            + _OPTIONS
        ),
    ),
    Case(
        "RB106",
        _build(f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$(cat $1)")\n{_OPTIONS}'),
        _build(f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$(cat "$1")")\n{_OPTIONS}'),
    ),
    Case(
        "RB107",
        _build(
            '    local context="$2"\n    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n'
            '    if [[ -n $context ]]; then CLAUDE_CMD_ARGS+=("--context" $context); fi\n'
        ),
        _build(
            '    local context="$2"\n    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n'
            '    if [[ -n $context ]]; then CLAUDE_CMD_ARGS+=("--context" "$context"); fi\n'
        ),
    ),
    Case(
        "RB109",
        _build(
            '    local id=${3:-}\n    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1" ${2:+--context "$2"})\n'
            '    if [[ "$CLAUDE_USE_CONTINUE" == true && $id ]]; then CLAUDE_CMD_ARGS+=(--session=$id); fi\n'
        ),
        _build(
            '    local id=${3:-}\n    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1" ${2:+--context "$2"})\n'
            '    if [[ "$CLAUDE_USE_CONTINUE" == true && $id ]]; then CLAUDE_CMD_ARGS+=(--session="$id"); fi\n'
        ),
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
        "RB115",
        _build(
            f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n{_OPTIONS}'
            "    local tool tools=()\n"
            '    IFS="," read -ra tools <<<"${CLAUDE_ALLOWED_TOOLS:-}"\n'
            '    for tool in ${tools[@]+"${tools[@]}"}; do\n'
            '        if [[ -n "$tool" ]]; then CLAUDE_CMD_ARGS+=("--tool" "$tool"); fi\n'
            "    done\n"
        ),
        _build(
            f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n{_OPTIONS}'
            "    local tool tools=()\n"
            '    IFS="," read -ra tools <<<"${CLAUDE_ALLOWED_TOOLS:-}"\n'
            '    for tool in ${tools[@]+"${tools[@]}"}; do\n'
            '        tool="${tool#"${tool%%[![:space:]]*}"}"\n'
            '        tool="${tool%"${tool##*[![:space:]]}"}"\n'
            '        if [[ -n "$tool" ]]; then CLAUDE_CMD_ARGS+=("--tool" "$tool"); fi\n'
            "    done\n"
        ),
        message="blanks around an entry stay with it",
        allowlist=True,
    ),
    Case(
        "RB118",
        _build(f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n{_OPTIONS}    echo "running $(echo "it")"\n'),
        _build(
            f'    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1")\n{_OPTIONS}    echo "running $(echo "it")" >&2\n'
        ),
    ),
    Case(
        "RB043",
        'agent_invoke() {\n    "$AGENT_CLI" --auto <"$1" 2>/dev/null\n}\n',
        'agent_invoke() {\n    "$AGENT_CLI" --auto <"$1"\n}\n',
        line=2,
    ),
    Case(
        "RB179",
        "agent_extract_response() {\n    local line\n    while IFS= read -r line; do\n"
        '        jq -r \'select(.type == "assistant") | .text\' <<<"$line" 2>/dev/null || true\n'
        '    done <"$1"\n}\n',
        'agent_extract_response() {\n    local line\n    while IFS= read -r line || [[ -n "$line" ]]; do\n'
        '        jq -r \'select(.type == "assistant") | .text\' <<<"$line" 2>/dev/null || true\n'
        '    done <"$1"\n}\n',
    ),
    Case(
        "RB182",
        "agent_format_display() {\n"
        "    grep '^{' | jq -R -r 'fromjson? | select(.type == \"assistant\") | .text'\n}\n",
        "agent_format_display() {\n    grep --line-buffered '^{' | "
        "jq --unbuffered -R -r 'fromjson? | select(.type == \"assistant\") | .text'\n}\n",
    ),
    Case(
        "RB186",
        "agent_format_display() {\n"
        "    jq --unbuffered -R -r 'fromjson? | select(.type == \"assistant\") | .text'\n"
        '    [[ -n "${MY_NOTE:-}" ]] && echo "$MY_NOTE"\n}\n',
        "agent_format_display() {\n"
        "    jq --unbuffered -R -r 'fromjson? | select(.type == \"assistant\") | .text'\n"
        '    if [[ -n "${MY_NOTE:-}" ]]; then echo "$MY_NOTE"; fi\n}\n',
    ),
    Case(
        "RB004",
        "driver_check_available() {\n    my-platform --version |& grep -q . && echo seen &>>/dev/null\n}\n",
        "driver_check_available() {\n    my-platform --version 2>&1 | grep -q . && echo seen >>/dev/null 2>&1\n}\n",
        line=2,
    ),
    Case(
        "RB021",
        "driver_valid_tools() {\n    IFS=,\n    read -ra VALID_TOOL_PATTERNS <<<'Read'\n    IFS=' '\n}\n",
        "driver_valid_tools() {\n    local IFS=,\n    read -ra VALID_TOOL_PATTERNS <<<'Read'\n    IFS=' '\n}\n",
        message="driver_valid_tools writes IFS; it is not its own",
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
        "RB024", _build('    CLAUDE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" "--prompt" "$1")\n')
    ),
    "exit ends a subshell": Case("RB030", _plain('    ( [[ -n "$2" ]] || exit 1 )\n'), line=4),
    "exit ends a stage of a pipeline": Case("RB030", _plain("    echo x | { read -r _; exit 1; }\n"), line=4),
    "exit ends a job": Case("RB030", _plain("    { sleep 1; exit 1; } &\n"), line=4),
    "exit ends a helper": Case("RB030", "my_helper() {\n    exit 1\n}\n", line=2),
    "IFS is set under a condition": Case(
        "RB061", _plain('    if [[ "$2" ]]; then IFS=,; fi\n'), message="changes ifs"
    ),
    "IFS is set for one command": Case("RB061", _plain("    IFS=, read -r _ <<<x\n"), message="changes ifs"),
    "it is not IFS": Case("RB061", _plain("    IFS=,\n"), message="changes options: noglob"),
    "somebody reads the word": Case(
        "RB077",
        'driver_supports_sessions() { echo true; }\n_x() { [[ "$(driver_supports_sessions)" == true ]]; }\n',
    ),
    "word and status contradict each other": Case(
        "RB077", "driver_supports_sessions() { echo false; return 0; }\n"
    ),
    "the function goes on": Case("RB077", 'driver_supports_sessions() { echo true; [[ -n "$HOME" ]]; }\n'),
    "it says more than a word": Case("RB077", "driver_supports_sessions() { echo yes, it does; }\n"),
    "the last command does something": Case("RB100", _plain('    CLAUDE_CMD_ARGS+=("$2") && check_it\n')),
    "the last command is an alternative": Case("RB100", _plain('    [[ -n "$2" ]] && x || false\n')),
    "it does something first": Case("RB100", _plain('    [[ -n "$2" ]] && check_it && x\n')),
    "the last command is a test": Case("RB100", _plain('    [[ -n "$2" ]]\n')),
    "it tests for the prompt and goes on": Case(
        "RB101", _plain("", test='    [[ -f "$1" ]] || echo "none" >&2\n'), message="it returns 0"
    ),
    "half of the word is quoted": Case("RB107", _plain('    CLAUDE_CMD_ARGS+=("--context="$2)\n')),
    "the list is meant to be one": Case("RB107", _plain("    CLAUDE_CMD_ARGS+=($MY_OPTIONS)\n")),
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
    "there are two loops": Case(
        "RB115",
        _plain("    for t in $CLAUDE_ALLOWED_TOOLS; do :; done\n    for t in $CLAUDE_ALLOWED_TOOLS; do :; done\n"),
    ),
    "it is printed on stderr": Case(
        "RB118",
        _plain(
            '    [[ "$2" ]] && { echo a; [[ "$3" ]] || echo b; } >&2\n    if true; then echo c; fi 1>&2\n'
            "    true || echo d &>/dev/null\n"
        ),
    ),
    "what it prints is read": Case("RB118", _plain('    echo "$2" | read -r _\n    printf -v x y\n')),
    "the output is discarded, too": Case("RB043", 'agent_invoke() { "$AGENT_CLI" <"$1" &>/dev/null; }\n'),
    "another command's errors are discarded": Case(
        "RB043", 'agent_invoke() {\n    rm x 2>/dev/null\n    "$AGENT_CLI" <"$1"\n}\n', line=3
    ),
    "it reads up to another character": Case(
        "RB179", "agent_extract_response() { while read -r -d , x; do :; done; }\n"
    ),
    "each line has its own program": Case(
        "RB182", 'agent_format_display() { while read -r x; do jq . <<<"$x"; done; }\n'
    ),
    "there is no such word": Case("RB004", 'driver_check_available() { [[ "${HOME,,}" ]]; }\n'),
    "it is written for another shell": Case(
        "RB002", "driver_check_available() { :; }\n", first="#!/usr/bin/env zsh"
    ),
    "it is defined twice": Case("RB100", "driver_x() { [[ a ]] && b; }\ndriver_x() { [[ a ]] && b; }\n"),
}
"""No mend may touch these, whatever a check says of them."""
