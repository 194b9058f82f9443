#!/bin/bash
# Kilo Code CLI
# argv comes from python, NUL separated: the team knows python better than bash's quoting

driver_name() { echo kilocode; }
driver_display_name() { echo "Kilo Code"; }
driver_cli_binary() { echo kilocode; }
driver_min_version() { echo 0.22.0; }
driver_check_available() { command -v kilocode >/dev/null 2>&1; }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_valid_tools() {
    local IFS=$'\n'
    VALID_TOOL_PATTERNS=($(printf '%s\n' read_file write_to_file apply_diff execute_command search_files list_files))
}

driver_permission_denial_help() {
    echo "In ~/.kilocode/cli/config.json, autoApproval.enabled has to be true for read, write and execute."
}

_kilocode_argv() {
    python3 -c '
import os, sys

prompt_file, context, session = sys.argv[1:4]
with open(prompt_file, "rb") as f:
    prompt = f.read().rstrip(b"\n")
if context:
    prompt = os.fsencode(context) + b"\n\n" + prompt
argv = [b"kilocode", b"--auto", b"--yolo"]
if os.environ.get("KILO_FORMAT") != "text":
    argv.append(b"--json")
if session:
    argv += [b"--session", os.fsencode(session)]
argv += [b"--", prompt]
sys.stdout.buffer.write(b"".join(a + b"\0" for a in argv))
' "$@"
}

driver_build_command() {
    local arg session=
    [ -f "$1" ] || { echo "kilocode: $1 is not a file" >&2; return 1; }
    [ "${CLAUDE_USE_CONTINUE:-}" = true ] && session=$3
    CLAUDE_CMD_ARGS=()
    while IFS= read -r -d '' arg; do
        CLAUDE_CMD_ARGS+=("$arg")
    done < <(KILO_FORMAT="${CLAUDE_OUTPUT_FORMAT:-json}" _kilocode_argv "$1" "$2" "$session")
    [ ${#CLAUDE_CMD_ARGS[@]} -gt 0 ]
}

driver_prepare_live_command() {
    local a has=
    LIVE_CMD_ARGS=()
    for a in "${CLAUDE_CMD_ARGS[@]}"; do
        case "$a" in
            --json) has=1 ;;
            --) [ -n "$has" ] || LIVE_CMD_ARGS+=(--json); has=1 ;;
        esac
        LIVE_CMD_ARGS+=("$a")
    done
}

driver_stream_filter() {
    # "say" messages; partial ones are repeated until they are complete
    echo 'select(.type == "say" and .say == "text" and (.partial | not)) | .content // .text // empty | . + "\n"'
}

driver_extract_session_id_from_output() {
    awk -F'"' '
        /^\{/ && /"event":"session_created"/ {
            for (i = 2; i < NF; i++) if ($i == "sessionId") { print $(i + 2); exit }
        }' "$1"
}
