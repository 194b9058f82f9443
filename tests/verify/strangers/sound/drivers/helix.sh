#!/usr/bin/env bash
# Helix, the platform team's agent. `helix run --job FILE`; the job is JSON. It lies beside the prompt and is overwritten.

driver_name() { echo 'helix'; }
driver_display_name() { echo 'Helix'; }
driver_cli_binary() { echo 'helix'; }
driver_min_version() { echo '3.1.0'; }
driver_check_available() { command -v helix >/dev/null 2>&1; }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }
driver_valid_tools() { VALID_TOOL_PATTERNS=('code.*' 'shell.*' 'search.*'); }
driver_permission_denial_help() { echo "Ask in #helix-support, or lower the guard level in ${RALPHRC_FILE:-.ralphrc}."; }

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" job
    if [[ ! -f "$prompt_file" ]]; then
        echo "helix: no prompt at $prompt_file" >&2
        return 1
    fi
    [[ "${CLAUDE_USE_CONTINUE:-}" == "true" ]] || session_id=""
    job="$(dirname "$prompt_file")/.helix-job.json"

    HELIX_CONTEXT="$loop_context" HELIX_SESSION="$session_id" python3 - "$prompt_file" > "$job" <<'PY' || return 1
import json, os, sys
job = {"prompt": open(sys.argv[1], encoding="utf-8", errors="replace").read()}
for key in ("context", "session"):
    value = os.environ.get("HELIX_" + key.upper())
    if value:
        job[key] = value
json.dump(job, sys.stdout, indent=1)
PY
    CLAUDE_CMD_ARGS=(helix run --job "$job" --report "${CLAUDE_OUTPUT_FORMAT:-json}")
}

driver_prepare_live_command() {
    LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]:0:${#CLAUDE_CMD_ARGS[@]}-1}" ndjson)
}

driver_stream_filter() {
    echo 'objects | select(.k == "txt" and .who == "helix") | .v | strings'
}

driver_extract_session_id_from_output() {
    node -e '
        const lines = require("fs").readFileSync(process.argv[1], "utf8").split("\n");
        for (const line of lines) {
            let e; try { e = JSON.parse(line); } catch { continue; }
            if (e && e.k === "hello" && e.sid) { console.log(e.sid); process.exit(0); }
        }
        process.exit(1);
    ' "$1"
}
