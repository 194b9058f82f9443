#!/usr/bin/env bash
# Rovo: relies on what the loop has
driver_name() { echo "copilot-new"; }
driver_display_name() { echo "Copilot New"; }
driver_cli_binary() { command -v copilot-new 2>/dev/null || echo "copilot-new"; }
driver_valid_tools() { local -a t=(shell write); VALID_TOOL_PATTERNS=("${t[@]}" "shell(git:*)"); }
driver_min_version() { echo "0.0.418"; }
driver_check_available() { command -v copilot-new &>/dev/null; }
driver_supports_tool_allowlist() { return 0; }
driver_build_command() {
  local prompt_file="$1" loop_context="$2" session_id="$3"
  [[ -f "$prompt_file" ]] || { log_status "ERROR" "Prompt file not found: $prompt_file"; return 1; }
  CLAUDE_CMD_ARGS=("$CLAUDE_CODE_CMD" --no-ask-user -s)
  CLAUDE_CMD_ARGS[0]="copilot-new"
  local oldifs="$IFS" tool
  if [[ -n "${CLAUDE_ALLOWED_TOOLS:-}" ]]; then
    set -f; IFS=','
    for tool in $CLAUDE_ALLOWED_TOOLS; do
      IFS="$oldifs"
      tool="${tool## }"
      CLAUDE_CMD_ARGS+=("--allow-tool=$tool")
    done
    IFS="$oldifs"; set +f
  fi
  [[ "${VERBOSE_PROGRESS:-false}" == "true" ]] && CLAUDE_CMD_ARGS+=(--log-level debug)
  if [[ "${CLAUDE_USE_CONTINUE}" == "true" ]]; then
    if [[ -n "$session_id" ]]; then
      CLAUDE_CMD_ARGS+=(--resume="$session_id")
    fi
  fi
  local p
  p="$(cat "$prompt_file"; printf x)"; p="${p%x}"
  if [[ -n "$loop_context" ]]; then
    CLAUDE_CMD_ARGS+=(-p "$(printf '%s\n\n%s' "$loop_context" "$p")")
  else
    CLAUDE_CMD_ARGS+=(-p "$p")
  fi
}
