#!/usr/bin/env bash
# Factory's droid. `droid exec` reads the prompt from stdin when there is none on the command line.

driver_name() { echo "droid"; }
driver_display_name() { echo "Factory Droid"; }
driver_cli_binary() { echo "droid"; }
driver_min_version() { echo "0.147.0"; }
driver_check_available() { command -v droid >/dev/null 2>&1; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=("Read" "LS" "Grep" "Glob" "Edit" "Create" "ApplyPatch" "Execute" "WebSearch" "FetchUrl")
}

driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_permission_denial_help() {
    echo "droid exec runs with --auto high. See $RALPHRC_FILE (ALLOWED_TOOLS) and 'droid exec --list-tools'."
}

# join , LIST...
__droid_join() {
    local IFS="$1"
    shift
    printf '%s' "$*"
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" tool
    local -a argv=(droid exec --auto high) allowed=() raw=()

    if [[ ! -f "$prompt_file" ]]; then
        echo "droid: prompt file not found: $prompt_file" >&2
        return 1
    fi

    argv+=(--output-format "${CLAUDE_OUTPUT_FORMAT:-json}")

    IFS=, read -r -a raw <<<"${CLAUDE_ALLOWED_TOOLS:-}"
    for tool in ${raw[@]+"${raw[@]}"}; do
        read -r tool <<<"$tool"
        [[ -z "$tool" ]] || allowed+=("$tool")
    done
    if ((${#allowed[@]})); then
        argv+=(--enabled-tools "$(__droid_join , "${allowed[@]}")")
    fi

    if [[ "${CLAUDE_USE_CONTINUE:-}" == true && -n "$session_id" ]]; then
        argv+=(--session-id "$session_id")
    fi

    # bash -c SCRIPT NAME CONTEXT FILE ARGV...
    CLAUDE_CMD_ARGS=(
        bash -c 'c=$1 f=$2; shift 2; exec "$@" < <([[ -z $c ]] || printf "%s\n\n" "$c"; cat "$f")'
        droid-driver "$loop_context" "$prompt_file" "${argv[@]}"
    )
}

driver_prepare_live_command() {
    local i
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
    # behind the five words of the shell and its context and file
    for ((i = 6; i < ${#LIVE_CMD_ARGS[@]}; i++)); do
        if [[ "${LIVE_CMD_ARGS[i]}" == --output-format ]]; then
            LIVE_CMD_ARGS[i + 1]=stream-json
            break
        fi
    done
}

driver_stream_filter() {
    echo 'if .type == "message" and .role == "assistant" then (.text // "") + "\n"
          elif .type == "tool_call" then "[" + (.toolName // "?") + "]\n"
          elif .type == "error" then "[error] " + (.message // "") + "\n"
          else empty end'
}
