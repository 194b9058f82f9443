# Factory droid, headless ("droid exec").  Written for our monorepo; keep it POSIX-ish where possible.
#
# NB the controller runs us under `set -e`, hence no naked greps.

driver_name()           { printf 'droid-printf\n'; }
driver_display_name()   { printf 'Factory Droid\n'; }
driver_cli_binary()     { printf 'droid\n'; }
driver_min_version()    { printf '0.22.0\n'; }
driver_check_available(){ type -P droid > /dev/null; }
driver_supports_tool_allowlist() { false; }
driver_supports_sessions()       { true; }
driver_supports_live_output()    { true; }

driver_valid_tools() {
  local t
  VALID_TOOL_PATTERNS=()
  for t in Read LS Execute Edit ApplyPatch Create Grep Glob WebSearch FetchUrl TodoWrite; do
    VALID_TOOL_PATTERNS+=( "$t" )
  done
}

driver_permission_denial_help() {
  cat <<-HELP
	${DRIVER_DISPLAY_NAME:-Droid} stopped at the autonomy limit.
	Raise DROID_AUTO (low, medium, high) in ${RALPHRC_FILE:-.ralphrc} and start again.
	HELP
}

driver_build_command() {
  local file=$1 ctx=${2-} sid=${3-} text fmt

  if ! [ -r "$file" ] || [ -d "$file" ]; then
    printf >&2 'droid: cannot read %s\n' "$file"
    return 1
  fi

  case ${CLAUDE_OUTPUT_FORMAT:-json} in
    text) fmt=text ;;
    *)    fmt=json ;;
  esac

  IFS= read -r -d '' text < "$file" || true
  if [ -n "$ctx" ]; then
    printf -v text '%s\n\n---\n\n%s' "$ctx" "$text"
  fi

  CLAUDE_CMD_ARGS=( droid exec --auto "${DROID_AUTO:-high}" --output-format "$fmt" )
  if [ "${CLAUDE_USE_CONTINUE:-}" = true ] && [ -n "$sid" ]; then
    CLAUDE_CMD_ARGS+=( --session-id "$sid" )
  fi
  CLAUDE_CMD_ARGS+=( -- "$text" )
}

driver_prepare_live_command() {
  local i n=${#CLAUDE_CMD_ARGS[@]}
  LIVE_CMD_ARGS=( "${CLAUDE_CMD_ARGS[@]}" )
  for (( i = 0; i < n; i++ )); do
    if [ "${LIVE_CMD_ARGS[i]}" = -- ]; then break; fi
    if [ "${LIVE_CMD_ARGS[i]}" = --output-format ]; then
      LIVE_CMD_ARGS[i+1]=stream-json
      break
    fi
  done
}

driver_stream_filter() {
  cat <<'JQ'
if type != "object" then empty
elif .type == "message" and .role == "assistant" then (.text // "") + "\n"
elif .type == "tool_call" then "  -> " + (.toolName // "tool") + "\n"
else empty end
JQ
}

driver_extract_session_id_from_output() {
  [ -f "$1" ] || return 1
  jq -Rr 'fromjson? | objects | select(.type == "system" or .type == "result") | .session_id // empty' < "$1" | head -n 1
}
