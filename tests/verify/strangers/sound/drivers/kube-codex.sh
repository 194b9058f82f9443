#!/usr/bin/env bash
# codex in a pod of the team's cluster

KUBE_CODEX_POD=${KUBE_CODEX_POD:-deploy/codex}
KUBE_CODEX_NS=${KUBE_CODEX_NS:-agents}

driver_name() { echo "kube-codex"; }
driver_display_name() { echo "Codex in the cluster"; }
driver_cli_binary() { echo "kubectl"; }
driver_min_version() { echo "1.28.0"; }
driver_check_available() { command -v kubectl >/dev/null 2>&1; }
driver_valid_tools() {
    local IFS=$'\n'
    VALID_TOOL_PATTERNS=($(cat <<'TOOLS'
exec_command
write_stdin
apply_patch
view_image
TOOLS
    ))
}
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

# The pod's shell reads a script on its command line; the values are its arguments and are not parsed again.
_kube_codex_script='
cd /workspace || exit 4
prompt=$(printf %s "$1" | base64 -d)
session=$2
shift 2
if [ -n "$session" ]; then set -- "$@" resume "$session"; fi
exec codex exec "$@" -- "$prompt"
'

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" packed
    if [[ ! -f "$prompt_file" ]]; then
        echo "kube-codex: prompt file not found: $prompt_file" >&2
        return 1
    fi
    if [[ -n "$loop_context" ]]; then
        packed=$({ printf '%s\n\n' "$loop_context"; cat "$prompt_file"; } | base64 -w 0)
    else
        packed=$(base64 -w 0 <"$prompt_file")
    fi
    [[ "$CLAUDE_USE_CONTINUE" == "true" ]] || session_id=""
    CLAUDE_CMD_ARGS=(
        kubectl exec --namespace "$KUBE_CODEX_NS" "$KUBE_CODEX_POD" --
        sh -c "$_kube_codex_script" codex-turn "$packed" "$session_id"
        --json --skip-git-repo-check --sandbox danger-full-access
    )
}

driver_stream_filter() {
    echo 'select(.type == "item.completed") | .item | select(.type == "agent_message") | .text | strings | . + "\n"'
}

driver_extract_session_id_from_output() {
    jq -nRr 'first(inputs | fromjson? | objects | select(.type == "thread.started") | .thread_id)' "$1" 2>/dev/null
}
