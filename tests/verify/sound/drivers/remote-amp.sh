#!/usr/bin/env bash
# nohup + stdbuf + ssh; quotes with ${var@Q}-like helper for bash 3.2
_q() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
driver_name() { echo remote-amp; }
driver_display_name() { echo "Amp (remote)"; }
driver_cli_binary() { echo ssh; }
driver_min_version() { echo 0.0.1; }
driver_check_available() { command -v ssh >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Bash edit_file); }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }
driver_build_command() {
    local prompt; local remote="amp"
    [ -f "$1" ] || { echo "no prompt file" >&2; return 1; }
    prompt=$(cat "$1")
    if [ -n "$2" ]; then prompt="$2

$prompt"; fi
    if [ "${CLAUDE_USE_CONTINUE:-}" = true ] && [ -n "$3" ]; then
        remote="$remote threads continue $(_q "$3")"
    fi
    remote="cd /srv/work && exec $remote -x $(_q "$prompt")"
    CLAUDE_CMD_ARGS=(stdbuf -oL nice -n 5 ssh -T -p 2222 agent@box "$remote")
}
