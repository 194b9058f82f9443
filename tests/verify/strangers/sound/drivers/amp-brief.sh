#!/usr/bin/env bash
# amp: one line each where it can be one line.
driver_name() { echo amp-brief; }; driver_display_name() { echo Amp; }; driver_cli_binary() { echo amp; }
driver_min_version() { echo 0.0.1750000000; }; driver_check_available() { command -v amp >/dev/null; }
driver_supports_tool_allowlist() { return 1; }; driver_supports_sessions() { return 0; }; driver_supports_live_output() { return 0; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(Bash create_file edit_file finder glob Grep librarian oracle Read Task web_search); }
driver_permission_denial_help() { echo "amp: see amp.permissions in settings.json, and ${RALPHRC_FILE:-.ralphrc}"; }
driver_build_command() {
  local -a amp thread=(); local p
  [ -f "$1" ] || return 1
  p="${2:+$2$'\n\n'}$(<"$1")"
  if [ "${CLAUDE_USE_CONTINUE:-false}" = true ] && [ -n "${3:-}" ]; then thread=(threads continue "$3"); fi
  amp=(env AMP_SKIP_UPDATE_CHECK=1 nice -n 5 amp ${thread[@]+"${thread[@]}"} --dangerously-allow-all --stream-json)
  CLAUDE_CMD_ARGS=("${amp[@]}" --execute "$p")
}
driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}"); }
driver_stream_filter() { echo 'if .type? == "assistant" and .parent_tool_use_id == null then .message.content[]? | if .type == "text" then .text + "\n" elif .type == "tool_use" then "⚙ \(.name)\n" else empty end else empty end'; }
driver_extract_session_id_from_output() { awk 'match($0, /^\{"type":"system".*"session_id":"T-[-0-9a-f]+"/) { s = substr($0, RSTART, RLENGTH); sub(/.*"session_id":"/, "", s); sub(/"$/, "", s); print s; exit }' "$1"; }
