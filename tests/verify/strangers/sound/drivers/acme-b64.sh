#!/usr/bin/env bash
# Same agent as acme-ssh, but the login shell of the build hosts is fish: nothing with quotes survives, so what
# has to arrive travels as base64 and is unpacked by sh.

ACME_B64_HOST=${ACME_B64_HOST:-build01}

driver_name() { echo acme-b64; }
driver_display_name() { echo "ACME agent @ $ACME_B64_HOST"; }
driver_cli_binary() { echo ssh; }
driver_valid_tools() { VALID_TOOL_PATTERNS=('*'); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }
driver_min_version() { echo 4.2.0; }
driver_check_available() { command -v ssh >/dev/null 2>&1 && command -v base64 >/dev/null 2>&1; }
driver_permission_denial_help() { echo "kinit, then try: ssh $ACME_B64_HOST acme-agent whoami"; }

acme_b64() { printf '%s' "$1" | base64 | tr -d '\n'; }

driver_build_command() {
    local far p c s=''
    if [ ! -f "$1" ]; then
        echo "acme-b64: cannot find $1" >&2
        return 1
    fi
    p=$(cat "$1")
    [ -z "$2" ] || p=$(printf '%s\n\n%s' "$2" "$p")
    [ "${CLAUDE_USE_CONTINUE:-}" != true ] || s=$3

    far='d() { echo "$1" | base64 -d; }
cd "$(d '$(acme_b64 "$PWD")')" || exit 66
set -- acme-agent run --batch --format '${CLAUDE_OUTPUT_FORMAT:-json}'
s="$(d '$(acme_b64 "$s")')"
[ -z "$s" ] || set -- "$@" --session "$s"
d '$(acme_b64 "$p")' | "$@" -'
    CLAUDE_CMD_ARGS=(ssh -T -o BatchMode=yes "$ACME_B64_HOST" "echo $(acme_b64 "$far") | base64 -d | sh")
}
