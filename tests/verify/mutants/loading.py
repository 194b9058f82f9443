"""Breakages of what must hold while a script is sourced, and of what holds for all hooks."""

# ruff: noqa: E501  - one line per mutant

from __future__ import annotations

from . import Mutant

M = Mutant
CODEX, PLATFORM, MINIMAL = "drivers/codex", "my-platform", "minimal"

MUTANTS = [
    M("exits at the end", CODEX, "", "exit 0", ("RB050",)),
    M("exits with a status", "amp", "", "command -v no-such-cli-of-ours >/dev/null || exit 1", ("RB050",)),
    M("replaces the shell", PLATFORM, "", "exec true", ("RB050",)),
    M("last condition fails", MINIMAL, "", '[[ -n "${NO_SUCH_VARIABLE:-}" ]] && x=1', ("RB051",)),
    M("returns a status", "codex", "", "return 3", ("RB051",)),
    M("prints a banner", CODEX, "", 'echo "codex driver loaded"', ("RB052",)),
    M("prints a banner on stderr", "amp", "", 'echo "amp agent loaded" >&2', ("RB052",)),
    M("strict mode", PLATFORM, "#!/usr/bin/env bash", "#!/usr/bin/env bash\nset -euo pipefail", ("RB053",)),
    M("extglob stays on", MINIMAL, "", "shopt -s extglob nullglob", ("RB053",)),
    M("noglob in an agent", "codex", "", "set -f", ("RB053",)),
    M("changes the folder", CODEX, "", 'cd "${TMPDIR:-/tmp}"', ("RB054",)),
    M("an EXIT trap", PLATFORM, "", "trap 'rm -f /tmp/x' EXIT", ("RB055",)),
    M("an INT trap in an agent", "amp", "", "trap 'echo interrupted' TERM", ("RB055",)),
    M("an ERR trap", MINIMAL, "", "trap 'echo failed >&2' ERR", ("RB055",)),
    M("posix mode", CODEX, "", "set -o posix", ("RB053",)),
    M("the locale", MINIMAL, "", "export LC_ALL=POSIX", ("RB060",)),
    M("IFS for good", CODEX, "", "IFS=$'\\n\\t'", ("RB056",)),
    M("IFS unset", MINIMAL, "", "unset IFS", ("RB056",)),
    M("sets positional parameters", PLATFORM, "", "set -- one two", ("RB057",)),
    M("changes umask", CODEX, "", "umask 077", ("RB057",)),
    M("opens a log", MINIMAL, "", "exec 5>/dev/null", ("RB057",)),
    M("a failing assignment under set -e", PLATFORM, "driver_name()", "V=$(false)\n:\ndriver_name()", ("RB058",)),
    M("grep without a match", "amp", "AGENT_CLI=", "V=$(echo a | grep b)\nAGENT_CLI=", ("RB058",)),
    M("valid_tools fails under set -e", CODEX, "    VALID_TOOL_PATTERNS=(", "    false\n    VALID_TOOL_PATTERNS=(",
      ("RB058",)),
    M("a required hook misspelt", PLATFORM, "driver_valid_tools()", "driver_valid_tool()", ("RB059",)),
    M("no display name", CODEX, "driver_display_name()", "my_display_name()", ("RB059",)),
    M("hooks under a condition", MINIMAL, "driver_name() {", "[ -z x ] && driver_name() {", ("RB059",)),
    M("an agent without display", "amp", "agent_format_display()", "agent_format()", ("RB059",)),
    M("unsets a hook", PLATFORM, "", "unset -f driver_build_command", ("RB059",)),
    M("overrules a setting", CODEX, "", "CLAUDE_USE_CONTINUE=true", ("RB060",)),
    M("overrules the format", MINIMAL, "", "CLAUDE_OUTPUT_FORMAT=text", ("RB060",)),
    M("a hook changes the folder", CODEX, "    prompt=$(<", '    cd "${prompt_file%/*}" && prompt_file=${prompt_file##*/}\n    prompt=$(<',
      ("RB061",)),
    M("a hook sets an option", PLATFORM, "    VALID_TOOL_PATTERNS=(", "    set -f\n    VALID_TOOL_PATTERNS=(", ("RB061",)),
    M("a hook keeps IFS", CODEX, "    local IFS=$' \\t\\n'\n    LIVE", "    IFS=,\n    LIVE", ("RB061",)),
    M("a hook traps", MINIMAL, '    [ -f "$1" ] || return 1', "    trap : USR1\n    [ -f \"$1\" ] || return 1", ("RB061",)),
    M("pre_iteration changes the folder", "amp", "agent_pre_iteration() {", "agent_pre_iteration() {\n    cd /", ("RB061",)),
    M("a hook exits", CODEX, "        return 1\n    fi\n    prompt", "        exit 1\n    fi\n    prompt", ("RB062",)),
    M("name exits", PLATFORM, 'driver_name() { echo "my-platform"; }', 'driver_name() { echo "my-platform"; exit 0; }',
      ("RB062",)),
    M("a hook kills the shell", MINIMAL, "driver_display_name() {", "driver_display_name() { kill -9 $$;", ("RB062",)),
]  # fmt: skip
