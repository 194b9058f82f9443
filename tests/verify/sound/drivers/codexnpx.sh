#!/bin/bash
function driver_name { echo "codexnpx"; }
function driver_display_name { echo "Codex via npx"; }
function driver_cli_binary { echo "npx"; }
function driver_min_version { echo "1.0.0"; }
function driver_check_available { command -v npx > /dev/null 2>&1; }
function driver_valid_tools {
  VALID_TOOL_PATTERNS=( shell
                        apply_patch )
}
function driver_supports_sessions { return 0; }
function driver_build_command {
  local prompt_file="$1" loop_context="$2" session_id="$3"
  CLAUDE_CMD_ARGS=(npx --yes @openai/codex@latest exec --json)
  test -f "$prompt_file" || return 1
  local body="$(cat "$prompt_file")"
  if test -n "$loop_context"; then
    body="$loop_context

$body"
  fi
  if test "${CLAUDE_USE_CONTINUE:-false}" = true && test -n "$session_id"; then
    CLAUDE_CMD_ARGS+=(resume "$session_id")
  fi
  CLAUDE_CMD_ARGS+=(-- "$body")
}
function driver_prepare_live_command { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
function driver_stream_filter {
  cat <<'JQ'
select(.type == "item.completed" and .item.type == "agent_message") | .item.text + "\n"
JQ
}
function driver_extract_session_id_from_output {
  [ -f "$1" ] || return 1
  local id
  id=$(grep -a '"thread.started"' "$1" | head -n 1 | sed -n 's/.*"thread_id":"\([^"]*\)".*/\1/p')
  [ -n "$id" ] || return 1
  echo "$id"
}
