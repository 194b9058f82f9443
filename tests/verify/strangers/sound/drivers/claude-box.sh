#!/usr/bin/env bash
# Claude Code in a podman box that runs already (toolbox create ...). The box has a login shell with nvm in it, so
# everything goes through bash -lc.

driver_name() { echo "claude-box"; }
driver_display_name() { echo "Claude Code (box)"; }
driver_cli_binary() { echo "podman"; }
driver_min_version() { echo "2.0.0"; }
driver_check_available() { command -v podman > /dev/null 2>&1; }
driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(Bash "Bash(*)" "Bash(git *)" Edit Glob Grep Read Task TodoWrite WebFetch WebSearch Write "mcp__*")
}
driver_permission_denial_help() {
    echo "Add the tool to ALLOWED_TOOLS in $RALPHRC_FILE and restart."
}

# _box WORD...: BOXED (of the caller) becomes the command that runs WORD... in the box
_box() {
    BOXED=(podman exec -i -w "$PWD" "${CLAUDE_BOX:-claude-box}" bash -lc "$(printf '%q ' "$@")")
}

driver_build_command() {
    local prompt_file=$1 loop_context=$2 session_id=$3
    local -a words tools BOXED
    local tool

    if ! test -f "$prompt_file"; then
        echo "ERROR: $prompt_file not found" >&2
        return 1
    fi

    words=(claude --permission-mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
    if test "${CLAUDE_OUTPUT_FORMAT:-json}" = json; then words+=(--output-format json); fi
    if test "$CLAUDE_USE_CONTINUE" = true && test -n "$session_id"; then words+=(--resume "$session_id"); fi

    tools=()
    while IFS= read -r tool; do
        if test -n "$tool"; then tools+=("$tool"); fi
    done < <(printf '%s\n' "${CLAUDE_ALLOWED_TOOLS:-}" | tr ',' '\n' | sed 's/^[[:space:]]*//; s/[[:space:]]*$//')
    if test ${#tools[@]} -gt 0; then words+=(--allowedTools "${tools[@]}"); fi

    if test -n "$loop_context"; then words+=(--append-system-prompt "$loop_context"); fi
    words+=(-p -- "$(cat "$prompt_file")")

    _BOX_WORDS=("${words[@]}") # for the live command
    _box "${words[@]}"
    CLAUDE_CMD_ARGS=("${BOXED[@]}")
}

driver_prepare_live_command() {
    local -a words BOXED
    local i had=no
    words=(claude --verbose --include-partial-messages)
    for ((i = 1; i < ${#_BOX_WORDS[@]}; i++)); do
        case "$had:${_BOX_WORDS[i]}" in
            no:--output-format) i=$((i + 1)); continue ;;
            no:--append-system-prompt | no:--resume | no:--) had=yes ;;
        esac
        words+=("${_BOX_WORDS[i]}")
    done
    _box claude --output-format stream-json "${words[@]:1}"
    LIVE_CMD_ARGS=("${BOXED[@]}")
}

driver_stream_filter() {
    echo 'select(type == "object") | select(.type == "stream_event") | .event
        | if .type == "content_block_delta" and .delta.type == "text_delta" then .delta.text
          elif .type == "content_block_start" and .content_block.type == "tool_use" then "\n[" + .content_block.name + "] "
          elif .type == "content_block_stop" then "\n"
          else empty end'
}
