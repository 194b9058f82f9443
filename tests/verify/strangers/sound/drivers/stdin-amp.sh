#!/usr/bin/env bash
# amp reads its prompt on stdin, which a ralph-bridge host offers; other hosts get it as an argument.

driver_name() { echo "stdin-amp"; }
driver_display_name() { echo "Amp (stdin)"; }
driver_cli_binary() { echo "amp"; }
driver_min_version() { echo "0.0.1"; }
driver_check_available() { command -v amp >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("Bash" "Read" "edit_file" "create_file" "glob" "Grep"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 0; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" prompt
    if [[ ! -f "$prompt_file" ]]; then
        echo "stdin-amp: no $prompt_file" >&2
        return 1
    fi
    prompt="$(cat "$prompt_file")"
    if [[ -n "$loop_context" ]]; then
        prompt="$(printf '%s\n\n%s' "$loop_context" "$prompt")"
    fi
    CLAUDE_CMD_ARGS=(amp --dangerously-allow-all --stream-json)
    case "${PROMPT_ON_STDIN:-}:${#prompt}" in
        true:* | auto:[3-9]???? | auto:??????*)
            CLAUDE_CMD_ARGS+=(-x)
            CLAUDE_CMD_STDIN="$prompt"
            ;;
        *) CLAUDE_CMD_ARGS+=(-x "$prompt") ;;
    esac
}

driver_stream_filter() {
    echo 'select(.type == "assistant") | .message.content[] | select(.type == "text") | .text + "\n"'
}
