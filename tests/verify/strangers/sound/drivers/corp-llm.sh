#!/usr/bin/env bash
#
# corp-llm: the platform team's gateway client. It takes one JSON document:
#   corp-llm agent --request '{"prompt": "...", "context": "...", "session": "...", "format": "json"}'
#
corp_llm_bin() { echo "${CORP_LLM_BIN:-corp-llm}"; }

driver_name() { echo "corp-llm"; }
driver_display_name() { echo "Corp LLM gateway"; }
driver_cli_binary() { corp_llm_bin; }

driver_valid_tools() {
    VALID_TOOL_PATTERNS=("fs.read" "fs.write" "sh.run" "git.*" "jira.*")
}

# JSON string literal, in bash only (the runners have no jq before the tool chain is installed)
corp_llm_json_string() {
    local s="$1" n char escape
    s="${s//\\/\\\\}"
    s="${s//\"/\\\"}"
    s="${s//$'\n'/\\n}"
    s="${s//$'\r'/\\r}"
    s="${s//$'\t'/\\t}"
    for n in 1 2 3 4 5 6 7 8 11 12 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31; do
        printf -v escape '%03o' "$n"
        printf -v char "\\$escape"
        printf -v escape '\\u%04x' "$n"
        s="${s//"$char"/$escape}"
    done
    printf '"%s"' "$s"
}

driver_build_command() {
    local prompt_file="$1" loop_context="$2" session_id="$3"
    local request

    if [ ! -f "$prompt_file" ]; then
        echo "[corp-llm] prompt file missing: $prompt_file" >&2
        return 1
    fi

    request="{\"prompt\": $(corp_llm_json_string "$(cat "$prompt_file")")"
    if [ -n "$loop_context" ]; then
        request="$request, \"context\": $(corp_llm_json_string "$loop_context")"
    fi
    if [ -n "$session_id" ] && [ "${CLAUDE_USE_CONTINUE:-}" = "true" ]; then
        request="$request, \"session\": $(corp_llm_json_string "$session_id")"
    fi
    request="$request, \"format\": \"${CLAUDE_OUTPUT_FORMAT:-json}\"}"

    CLAUDE_CMD_ARGS=("$(corp_llm_bin)" agent --request "$request")
}

driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }

driver_permission_denial_help() {
    echo "The gateway's policy refused a tool: open a ticket for 'llm-gateway/policies'."
}

driver_min_version() { echo "0.9.0"; }
driver_check_available() { command -v "$(corp_llm_bin)" >/dev/null 2>&1; }
