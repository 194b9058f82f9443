# A driver as one finds them in the field, for today's copilot. For the tests of `drift`.
# shellcheck shell=bash disable=SC2034
driver_name() { echo "copilot"; }
driver_display_name() { echo "GitHub Copilot CLI"; }
driver_cli_binary() { echo "copilot"; }
driver_min_version() { echo "0.0.418"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("shell" "shell(git *)" "read" "write"); }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_stream_filter() { echo '.'; }

# D14: up to 7 more turns where nothing ends the first; with -s nobody sees what only the summary says.
driver_build_command() {
    local prompt
    prompt=$(cat "$1") || return 1
    [ -z "$2" ] || prompt="$2

$prompt"
    CLAUDE_CMD_ARGS=("copilot" "--autopilot" "--allow-all" "--max-autopilot-continues=7" "--no-ask-user")
    CLAUDE_CMD_ARGS+=("--silent" "--prompt" "$prompt")
}
