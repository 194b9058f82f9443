#!/usr/bin/env bash
# Our gateway's client wants a request file. It lies beside the prompt and is written anew for each turn.

driver_name() { echo "request-file"; }
driver_display_name() { echo "LLM Gateway"; }
driver_cli_binary() { echo "llm-gateway"; }
driver_min_version() { echo "2.0.0"; }
driver_check_available() { command -v llm-gateway >/dev/null 2>&1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("read" "write" "shell"); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

_request_file_path() {
    case "$1" in
        */*) printf '%s/.gateway-request.json' "${1%/*}" ;;
        *) printf '.gateway-request.json' ;;
    esac
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3" target
    [ -f "$prompt_file" ] || return 1
    [ "$CLAUDE_USE_CONTINUE" = "true" ] || session_id=
    target=$(_request_file_path "$prompt_file")
    python3 - "$prompt_file" "$loop_context" "$session_id" >"$target" <<'PY' || return 1
import json, sys
path, context, session = sys.argv[1:]
with open(path, encoding="utf-8", errors="surrogateescape") as handle:
    prompt = handle.read()
request = {"messages": [{"role": "user", "content": prompt}], "stream": True}
if context:
    request["messages"].insert(0, {"role": "system", "content": context})
if session:
    request["conversation"] = session
json.dump(request, sys.stdout)
PY
    CLAUDE_CMD_ARGS=("llm-gateway" "chat" "--events" "--request-file" "$target")
}

driver_stream_filter() {
    echo 'select(.event == "delta" and .role == "assistant") | .text // empty'
}

driver_extract_session_id_from_output() {
    python3 - "$1" <<'PY'
import json, sys
found = ""
with open(sys.argv[1], encoding="utf-8", errors="replace") as handle:
    for line in handle:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and event.get("event") == "start":
            found = event.get("conversation") or found
if found:
    print(found)
PY
}
