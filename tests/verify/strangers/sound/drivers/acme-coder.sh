#!/usr/bin/env bash
# ACME internal coding agent, npm package @acme/coder. Everything goes in as ONE json document; see
# https://wiki.acme.example/coder/headless

driver_name()         { echo acme-coder; }
driver_display_name() { echo "ACME Coder"; }
driver_cli_binary()   { echo npx; }
driver_min_version()  { echo 2.4.0; }

driver_check_available() {
  command -v npx >/dev/null 2>&1 && command -v jq >/dev/null 2>&1
}

driver_valid_tools() {
  VALID_TOOL_PATTERNS=( fs.read fs.write "fs.*" shell.run "shell.run(*)" git.* )
}

driver_supports_tool_allowlist() { return 0; }
driver_supports_sessions()       { return 0; }
driver_supports_live_output()    { return 0; }

driver_permission_denial_help() {
  echo "ACME Coder was denied a tool. Add it to ALLOWED_TOOLS in ${RALPHRC_FILE:-.ralphrc}."
}

driver_build_command() {
  local prompt_file="$1" loop_context="$2" session_id="$3" request

  if [[ ! -f "$prompt_file" ]]; then
    echo "prompt file missing: $prompt_file" >&2
    return 1
  fi
  if [[ "${CLAUDE_USE_CONTINUE:-}" != "true" ]]; then
    session_id=""
  fi

  request="$(jq -n \
    --rawfile prompt "$prompt_file" \
    --arg context "$loop_context" \
    --arg session "$session_id" \
    --arg tools "${CLAUDE_ALLOWED_TOOLS:-}" \
    '{prompt: $prompt}
     + (if $context != "" then {context: $context} else {} end)
     + (if $session != "" then {session: $session} else {} end)
     + ($tools | split(",") | map(gsub("^\\s+|\\s+$"; "") | select(. != ""))
        | if length > 0 then {allowedTools: .} else {} end)')" || return 1

  CLAUDE_CMD_ARGS=(npx --yes "@acme/coder@2" exec --format "${CLAUDE_OUTPUT_FORMAT:-json}" --request "$request")
}

driver_prepare_live_command() {
  LIVE_CMD_ARGS=()
  local previous=""
  local a
  for a in "${CLAUDE_CMD_ARGS[@]}"; do
    if [[ "$previous" == "--format" ]]; then
      LIVE_CMD_ARGS+=("events")
    else
      LIVE_CMD_ARGS+=("$a")
    fi
    previous="$a"
  done
}

driver_stream_filter() {
  echo 'select(type=="object") | select(.event=="delta" and .actor=="agent") | .data.text // empty'
}

driver_extract_session_id_from_output() {
  python3 - "$1" <<'PY'
import json, sys
for line in open(sys.argv[1], errors="replace"):
    try:
        event = json.loads(line)
    except ValueError:
        continue
    if isinstance(event, dict) and event.get("event") == "session":
        print(event.get("id", ""))
        break
PY
}
