#!/usr/bin/env bash
## crush has neither sessions nor JSON. The prompt goes to its stdin, as crush wants it.

driver_name() { echo "crush-bash"; }
driver_display_name() { echo "Crush"; }
driver_cli_binary() { echo "crush"; }
driver_min_version() { echo "0.10.0"; }
driver_check_available() { hash crush 2>/dev/null; }

driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_supports_tool_allowlist() { return 1; }

driver_valid_tools() {
    IFS=' ' read -r -a VALID_TOOL_PATTERNS <<< "bash edit multiedit view write ls glob grep fetch download sourcegraph"
}

driver_permission_denial_help() {
    printf '%s\n' \
        "Crush asked for a permission." \
        "Put the tool under permissions.allowed_tools in crush.json." \
        "($RALPHRC_FILE has no say in that.)"
}

driver_build_command() {
    local prompt_file="$1" context="$2"

    if [[ ! -s "$prompt_file" ]]; then
        echo "crush: no prompt in $prompt_file" >&2
        return 1
    fi

    # $0 is the name that shows up in ps
    CLAUDE_CMD_ARGS=(bash -c '
        { [ -z "$2" ] || printf "%s\n\n" "$2"; cat -- "$1"; } | crush run --quiet
    ' ralph-crush "$prompt_file" "$context")
}

driver_stream_filter() { echo '.'; }
