#!/bin/bash
#
# qwen.sh -- ralph driver for Qwen Code
#
# hooks: required -------------------------------------------------------

function driver_name {
  printf '%s\n' qwen
}

function driver_display_name {
  printf '%s\n' 'Qwen Code'
}

function driver_cli_binary {
  printf '%s\n' "${QWEN_BIN:-qwen}"
}

function driver_valid_tools {
  local t
  VALID_TOOL_PATTERNS=()
  while read -r t; do
    VALID_TOOL_PATTERNS+=("$t")
  done <<-'TOOLS'
	agent
	edit
	glob
	grep_search
	notebook_edit
	read_file
	run_shell_command
	skill
	todo_write
	write_file
	TOOLS
}

function driver_build_command {
  local -r prompt_file="${1-}" loop_context="${2-}" session_id="${3-}"
  local prompt
  local -a opts

  if ! [[ -f $prompt_file && -r $prompt_file ]]; then
    printf 'qwen: no prompt file: %s\n' "$prompt_file" >&2
    return 1
  fi
  prompt=$(<"$prompt_file")

  opts=(--approval-mode yolo)
  [[ ${CLAUDE_OUTPUT_FORMAT:-json} == text ]] \
    && opts+=(--output-format text) \
    || opts+=(--output-format json)
  [[ ${CLAUDE_USE_CONTINUE:-} == true && -n $session_id ]] && opts+=(--resume "$session_id")
  [[ -n $loop_context ]] && opts+=("--append-system-prompt=$loop_context")

  CLAUDE_CMD_ARGS=("${QWEN_BIN:-qwen}" "${opts[@]}" "--prompt=$prompt")
  return 0
}

# hooks: optional -------------------------------------------------------

function driver_supports_tool_allowlist {
  false
}

function driver_permission_denial_help {
  printf '%s\n' \
    "Qwen Code refused a tool." \
    "Check tools.exclude in ~/.qwen/settings.json; ${RALPHRC_FILE:-.ralphrc} has no say in it."
}

function driver_supports_sessions {
  true
}

function driver_supports_live_output {
  true
}

function driver_prepare_live_command {
  local w prev=
  LIVE_CMD_ARGS=()
  for w in "${CLAUDE_CMD_ARGS[@]}"; do
    if [[ $prev == --output-format ]]; then
      w=stream-json
    fi
    LIVE_CMD_ARGS+=("$w")
    if [[ $prev == --resume ]]; then prev=; else prev=$w; fi
  done
}

function driver_stream_filter {
  printf '%s' 'select(.type == "assistant")
    | .message.content[]?
    | if .type == "text" then .text + "\n"
      elif .type == "tool_use" then "[tool] " + .name + "\n"
      else empty end'
}

# json prints an array with all events on one line, stream-json one event per line.
function driver_extract_session_id_from_output {
  [[ -s ${1-} ]] || return 1
  jq -Rnr '[inputs | fromjson? | if type == "array" then .[] else . end
            | objects | .session_id | strings | select(. != "")] | .[0] // empty' <"$1" 2>/dev/null
}

# metadata ---------------------------------------------------------------

function driver_min_version {
  printf '%s\n' 0.15.10
}

function driver_check_available {
  type -P "${QWEN_BIN:-qwen}" &>/dev/null
}
