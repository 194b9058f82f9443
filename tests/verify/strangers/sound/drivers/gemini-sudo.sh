#!/usr/bin/env bash
# Gemini under an account of its own:  agent ALL = NOPASSWD in sudoers, project group-writable.

driver_name()            { echo gemini-sudo; }
driver_display_name()    { echo "Gemini CLI (user ${RALPH_AGENT_USER:-agent})"; }
driver_cli_binary()      { echo sudo; }
driver_min_version()     { echo 0.61.0; }
driver_check_available() { command -v sudo >/dev/null 2>&1 && sudo -n -u "${RALPH_AGENT_USER:-agent}" true 2>/dev/null; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=(read_file write_file replace glob grep_search 'run_shell_command' 'run_shell_command(*)')
}

_gemini_sudo_base() {
    BASE=(sudo -n -H -u "${RALPH_AGENT_USER:-agent}" --
          nice -n 10
          stdbuf -oL
          env GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_CLI_NO_RELAUNCH=true
          gemini --approval-mode=yolo)
}

driver_build_command() {
    local -a BASE options
    local prompt
    [[ -f ${1-} ]] || return 1
    IFS= read -r -d '' prompt <"$1" || :
    _gemini_sudo_base

    options=("--output-format=${CLAUDE_OUTPUT_FORMAT:-json}")
    [[ ${CLAUDE_USE_CONTINUE-} != true || -z ${3-} ]] || options+=("--resume=$3")
    [[ -z ${2-} ]] || prompt="<context>$2</context>"$'\n'"$prompt"

    CLAUDE_CMD_ARGS=("${BASE[@]}" "${options[@]}" "--prompt=$prompt")
}

driver_supports_tool_allowlist() { ! :; }
driver_supports_sessions()       { :; }
driver_supports_live_output()    { :; }
driver_permission_denial_help()  { echo "See /etc/sudoers.d/agent and the group of the project's files."; }

driver_prepare_live_command() {
    LIVE_CMD_ARGS=()
    set -- "${CLAUDE_CMD_ARGS[@]}"
    while [ $# -gt 0 ]; do
        case $1 in
            --output-format=*) LIVE_CMD_ARGS+=(--output-format=stream-json) ;;
            *) LIVE_CMD_ARGS+=("$1") ;;
        esac
        shift
    done
}

driver_stream_filter() {
    printf %s 'if (.type=="message") and (.role=="assistant") then .content elif .type=="result" then "\n" else empty end'
}

driver_extract_session_id_from_output() {
    python3 - "$1" <<'PY'
import json, sys

def ids(text):
    try:
        yield json.loads(text).get("session_id")      # json: one object over many lines
        return
    except (ValueError, AttributeError):
        pass
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and event.get("type") == "init":
            yield event.get("session_id")

with open(sys.argv[1], encoding="utf-8", errors="replace") as f:
    for found in ids(f.read()):
        if isinstance(found, str) and found:
            print(found)
            break
PY
}
