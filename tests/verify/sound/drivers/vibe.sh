#!/usr/bin/env bash
# Mistral Vibe: settings passed as one JSON value.
driver_name() { echo "vibe"; }
driver_display_name() { echo "Mistral Vibe"; }
driver_cli_binary() { echo "vibe"; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("bash" "read_file" "grep"); }
driver_min_version() { echo "1.0.4"; }
driver_check_available() { command -v vibe 1>/dev/null 2>&1; }
vibe_settings() {
  jq -cn --arg context "$1" --arg mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}" '{context: $context, mode: $mode}'
}
driver_build_command() {
  local prompt_file="$1" loop_context="$2" session_id="$3"
  if [[ ! -f "$prompt_file" ]]; then echo "Prompt not found: $prompt_file" >&2; return 1; fi
  local content; content="$(cat "$prompt_file")"
  local -a session=()
  [[ "${CLAUDE_USE_CONTINUE:-false}" == "true" && -n "$session_id" ]] && session=(--resume "$session_id")
  CLAUDE_CMD_ARGS=(vibe --auto-approve --output "${CLAUDE_OUTPUT_FORMAT:-json}" "${session[@]}" --mode "${CLAUDE_PERMISSION_MODE:-bypassPermissions}")
  if [[ -n "$loop_context" ]]; then CLAUDE_CMD_ARGS+=(--append-system-prompt "$loop_context"); fi
  CLAUDE_CMD_ARGS+=(--prompt "$content")
}
driver_prepare_live_command() {
  LIVE_CMD_ARGS=()
  local skip=false arg
  for arg in "${CLAUDE_CMD_ARGS[@]}"; do
    if $skip; then
      [[ "$arg" == json ]] && arg=streaming
      skip=false
    elif [[ "$arg" == --output ]]; then
      skip=true
    fi
    LIVE_CMD_ARGS+=("$arg")
  done
}
driver_stream_filter() {
  cat <<-'EOF'
	# assistant text only
	if type != "object" then empty
	elif .role == "assistant" and (.content | type) == "string" then .content
	else empty end
	EOF
}
