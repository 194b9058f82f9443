#!/usr/bin/env bash
# Gemini CLI driver
readonly GEMINI_DRIVER_MIN_VERSION="0.1.9"
readonly -a GEMINI_DRIVER_TOOLS=(
  "read_file" "write_file" "replace" "run_shell_command" "run_shell_command(*)" "glob" "web_fetch"
)

driver_name() {
  echo "gemini"
}

driver_display_name() {
  echo "Gemini CLI"
}

driver_cli_binary() {
  echo "${GEMINI_BIN:-gemini}"
}

driver_min_version() {
  echo "$GEMINI_DRIVER_MIN_VERSION"
}

driver_check_available() {
  command -v "${GEMINI_BIN:-gemini}" &>/dev/null
}

driver_valid_tools() {
  VALID_TOOL_PATTERNS=("${GEMINI_DRIVER_TOOLS[@]}")
}

driver_supports_tool_allowlist() { return 0; }

driver_permission_denial_help() {
  cat <<EOF
Gemini denied a tool. Options:
  1. Add it to ALLOWED_TOOLS in ${RALPHRC_FILE:-.ralphrc}
  2. Restart ${DRIVER_DISPLAY_NAME:-Gemini CLI}
EOF
}

driver_build_command() {
  local prompt_file=$1
  local loop_context=${2-}
  local session_id=${3-}
  local -a cmd=("${GEMINI_BIN:-gemini}")
  local -a tools=()
  local t

  [[ -f $prompt_file ]] || { echo "ERROR: Prompt file not found: $prompt_file" >&2; return 1; }

  case "${CLAUDE_OUTPUT_FORMAT:-json}" in
    json) cmd+=(--output-format json) ;;
    text) ;;
  esac
  case "${CLAUDE_PERMISSION_MODE:-bypassPermissions}" in
    bypassPermissions) cmd+=(--approval-mode yolo) ;;
    acceptEdits) cmd+=(--approval-mode auto_edit) ;;
    *) cmd+=(--approval-mode default) ;;
  esac

  if [[ -n "${CLAUDE_ALLOWED_TOOLS:-}" ]]; then
    IFS=',' read -ra tools <<< "$CLAUDE_ALLOWED_TOOLS"
    for t in "${tools[@]}"; do
      t="${t#"${t%%[![:space:]]*}"}"
      t="${t%"${t##*[![:space:]]}"}"
      [[ -n "$t" ]] && cmd+=(--allowed-tools "$t")
    done
  fi

  if [[ "${CLAUDE_USE_CONTINUE:-}" == "true" && -n "$session_id" ]]; then
    cmd+=("--session=$session_id")
  fi

  local body
  body=$(<"$prompt_file")
  [[ -n "$loop_context" ]] && printf -v body '%s\n\n%s' "$loop_context" "$body"
  cmd+=(--prompt "$body")

  CLAUDE_CMD_ARGS=("${cmd[@]}")
}

driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 0; }

driver_prepare_live_command() {
  LIVE_CMD_ARGS=()
  local arg prev=""
  for arg in "${CLAUDE_CMD_ARGS[@]}"; do
    if [[ "$prev" == "--output-format" && "$arg" == "json" ]]; then
      arg="stream-json"
    fi
    LIVE_CMD_ARGS+=("$arg")
    prev="$arg"
  done
}

driver_stream_filter() {
  cat <<'JQ'
select(.type? == "message" and .role? == "assistant") | .content // empty
JQ
}
