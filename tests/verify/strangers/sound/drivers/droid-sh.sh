#!/usr/bin/env bash
# Factory droid, started by a login shell, because its PATH is set in ~/.profile only.

driver_name() { echo "droid-sh"; }
driver_display_name() { echo "Factory Droid"; }
driver_cli_binary() { echo "droid"; }
driver_min_version() { echo "0.22.0"; }
driver_check_available() { sh -lc 'command -v droid' >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Read" "LS" "Grep" "Glob" "Create" "Edit" "Execute" "ApplyPatch" "FetchUrl"); }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local line word tools prompt
    [[ -e "$prompt_file" ]] || return 1
    printf -v prompt '%s' "$(cat "$prompt_file")"
    [[ -z "$loop_context" ]] || printf -v prompt '%s\n\n%s' "$loop_context" "$prompt"

    set -- exec --auto high --output-format "${CLAUDE_OUTPUT_FORMAT:-json}"
    tools=$(tr -s ',' '\n' <<<"${CLAUDE_ALLOWED_TOOLS:-}" | sed 's/^ *//;s/ *$//' | grep . | paste -sd, -)
    if [[ -n "$tools" ]]; then
        set -- "$@" --enabled-tools "$tools"
    fi
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$session_id" ]]; then
        set -- "$@" --session-id "$session_id"
    fi
    set -- "$@" -- "$prompt"

    line="droid"
    for word in "$@"; do
        printf -v line '%s %q' "$line" "$word"
    done
    CLAUDE_CMD_ARGS=(bash -lc "$line")
}

driver_prepare_live_command() {
    LIVE_CMD_ARGS=(bash -lc "${CLAUDE_CMD_ARGS[2]/--output-format ${CLAUDE_OUTPUT_FORMAT:-json}/--output-format stream-json}")
}

driver_stream_filter() {
    echo 'select(.type == "message" and .role == "assistant") | (.text // "") + "\n"'
}
