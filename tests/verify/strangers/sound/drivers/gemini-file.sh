#!/usr/bin/env bash
# Gemini CLI, the prompt by stdin: `gemini < file` from a helper function that the loop can run, since a command may be
# `bash FILE`: this file, run as a program, is its own wrapper.

_gemini_file_self=${BASH_SOURCE[0]}
case $_gemini_file_self in
    /*) ;;
    *) _gemini_file_self=$PWD/$_gemini_file_self ;;
esac

gemini_file_main() { # PROMPT_FILE CONTEXT OPTIONS...
    local file=$1 context=$2
    shift 2
    { [ -z "$context" ] || printf '%s\n\n' "$context"; cat "$file"; } | gemini "$@"
}

driver_name() { echo gemini-file; }
driver_display_name() { echo "Gemini CLI (stdin)"; }
driver_cli_binary() { echo gemini; }
driver_min_version() { echo 0.46.0; }
driver_check_available() { command -v gemini >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(read_file write_file replace glob run_shell_command); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_permission_denial_help() { echo "Trust the folder: gemini, then /permissions."; }

driver_build_command() {
    [[ -f $1 ]] || return 1
    CLAUDE_CMD_ARGS=(bash "$_gemini_file_self" "$1" "$2" --skip-trust --yolo -o "${CLAUDE_OUTPUT_FORMAT:-json}")
    if [[ ${CLAUDE_USE_CONTINUE:-} == true && $3 ]]; then CLAUDE_CMD_ARGS+=(-r "$3"); fi
}

driver_prepare_live_command() {
    # bash SELF FILE CONTEXT --skip-trust --yolo -o FORMAT ...
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    LIVE_CMD_ARGS[7]=stream-json
}

driver_stream_filter() {
    echo '. as $e | {"message": (if $e.role? == "assistant" then $e.content else null end), "result": "\n"}[$e.type? // ""] // empty'
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    gemini_file_main "$@"
fi
