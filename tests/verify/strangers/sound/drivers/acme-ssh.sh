#!/usr/bin/env bash
# ACME's in-house agent runs on a build host; the working copy is an NFS mount, the paths are the same there.
#   ACME_HOST   where (default: agents.acme.example)

driver_name() { echo "acme-ssh"; }
driver_display_name() { echo "ACME Agent (remote)"; }
driver_cli_binary() { echo "ssh"; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=("shell" "patch" "read" "search" "ticket")
}

# Every word is quoted once more for the shell at the far end.
_acme_quote() {
    local word
    for word in "$@"; do
        printf '%q ' "$word"
    done
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local prompt
    local -a remote=()

    [[ -f "$prompt_file" ]] || return 1
    prompt="$(cat "$prompt_file")"

    remote=(acme-agent run --non-interactive --format "${CLAUDE_OUTPUT_FORMAT:-json}")
    if [[ "${CLAUDE_USE_CONTINUE:-false}" == "true" && -n "$session_id" ]]; then
        remote+=(--session "$session_id")
    fi
    if [[ -n "$loop_context" ]]; then
        remote+=(--context="$loop_context")
    fi
    remote+=(--task="$prompt")

    CLAUDE_CMD_ARGS=(
        ssh -o BatchMode=yes -o ConnectTimeout=10 "${ACME_HOST:-agents.acme.example}"
        "cd $(printf '%q' "$PWD") && $(_acme_quote "${remote[@]}")"
    )
}

driver_supports_tool_allowlist() { return 1; }

driver_permission_denial_help() {
    echo "Ask #agents for the role 'shell' on ${ACME_HOST:-agents.acme.example}."
    echo "Loop settings: ${RALPHRC_FILE:-.ralphrc}"
}

driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }

driver_min_version() { echo "4.2.0"; }

driver_check_available() {
    command -v ssh >/dev/null 2>&1 || return 1
    ssh -o BatchMode=yes -o ConnectTimeout=5 "${ACME_HOST:-agents.acme.example}" command -v acme-agent >/dev/null 2>&1
}
