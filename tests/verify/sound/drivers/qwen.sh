#!/usr/bin/env bash
# Qwen Code: `resume ID` as subcommand; prompt through a stdin marker.

_qwen_bin() { printf '%s\n' "${QWEN_BIN:-qwen}"; }

_qwen_append_resume() {
  local id="$1"
  [[ "${CLAUDE_USE_CONTINUE:-false}" == true ]] || return 0
  [[ -n "$id" ]] || return 0
  CLAUDE_CMD_ARGS+=(resume "$id")
}

driver_name() { printf 'qwen\n'; }
driver_display_name() { printf '%s\n' 'Qwen Code'; }
driver_cli_binary() { _qwen_bin; }
driver_min_version() { printf '0.2.0\n'; }
driver_check_available() { type -P "$(_qwen_bin)" >/dev/null; }

driver_valid_tools() {
  VALID_TOOL_PATTERNS=()
  local name
  for name in read write edit 'shell(*)'; do
    VALID_TOOL_PATTERNS+=("$name")
  done
}

driver_build_command() {
  local prompt_file="${1:-}" context="${2:-}" session="${3:-}"
  if [ ! -f "$prompt_file" ]; then
    echo "qwen: no prompt at '$prompt_file'" >&2
    return 1
  fi
  CLAUDE_CMD_ARGS=("$(_qwen_bin)" exec --yolo)
  if [ "${CLAUDE_OUTPUT_FORMAT:-json}" = json ]; then
    CLAUDE_CMD_ARGS+=(--json)
  fi
  _qwen_append_resume "$session"
  local text
  text=$(cat "$prompt_file")
  if [ -n "$context" ]; then
    text="$(printf '%s\n\n%s' "$context" "$text")"
  fi
  CLAUDE_CMD_ARGS+=(-- "$text")
  return 0
}

driver_stream_filter() {
  echo 'select(.type == "item.completed" and .item.type == "agent_message") | .item.text'
}
