# A driver as one finds them in the field; it has drifted from today's codex. For the tests of `drift`.
# shellcheck shell=bash disable=SC2034
driver_name() { echo "codex"; }
driver_display_name() { echo "OpenAI Codex"; }
driver_cli_binary() { echo "codex"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("shell" "read_file" "write_file"); }

_add() { eval "CLAUDE_CMD_ARGS+=(\"\$@\")"; }

# --resume was an option once; it is a command now.
driver_build_command() {
    CLAUDE_CMD_ARGS=(timeout -k 5 600 env "RALPH=1" codex exec)
    if [[ $CLAUDE_USE_CONTINUE == true && -n $3 ]]; then _add --resume "$3"; fi
    _add --json --sandbox workspace-write
    _add "${2:+$2

}$(cat "$1")"
}

driver_stream_filter() { echo 'select(.type == "item.completed") | .item | select(.type == "agent_message") | .text'; }
