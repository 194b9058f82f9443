#!/usr/bin/env bash
# gemini on a build box
: "${GEMINI_HOST:=buildbox}"
driver_name() { echo gemini-ssh; }
driver_display_name() { echo "Gemini (remote)"; }
driver_cli_binary() { echo ssh; }
driver_min_version() { echo 0.1.0; }
driver_check_available() { command -v ssh >/dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(ReadFile WriteFile Edit Shell); }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_build_command() {
  local prompt_file=$1 ctx=${2:-} prompt quoted
  if [[ ! -r $prompt_file ]]; then echo "no prompt: $prompt_file" >&2; return 1; fi
  prompt=$(cat "$prompt_file")
  [[ -z $ctx ]] || prompt="$ctx"$'\n\n'"$prompt"
  printf -v quoted '%q' "$prompt"
  CLAUDE_CMD_ARGS=(ssh -o BatchMode=yes "$GEMINI_HOST" "gemini --yolo -p $quoted")
}
driver_stream_filter() { echo .; }
