#!/usr/bin/env bash
#
# qwen-team: Qwen Code for our team.  Helpers start with _qwen_team.
#

_qwen_team_bin=qwen

function driver_name {
	printf '%s\n' qwen-team
}

function driver_display_name {
	printf '%s\n' "Qwen Code (team)"
}

function driver_cli_binary {
	printf '%s\n' "$_qwen_team_bin"
}

function driver_min_version {
	printf '%s\n' 0.15.0
}

function driver_check_available {
	type -P "$_qwen_team_bin" >/dev/null
}

function driver_valid_tools {
	VALID_TOOL_PATTERNS=()
	local tool
	for tool in read_file write_file edit glob grep_search run_shell_command 'run_shell_command(*)' agent skill; do
		VALID_TOOL_PATTERNS+=("$tool")
	done
}

function driver_supports_tool_allowlist {
	return 0
}

function driver_supports_sessions {
	return 0
}

# "  a , b(c d),  " -> "a,b(c d)"
function _qwen_team_trimmed {
	local out="" entry rest="$1,"
	while [[ -n "$rest" ]]; do
		entry="${rest%%,*}"
		rest="${rest#*,}"
		entry="${entry#"${entry%%[![:space:]]*}"}"
		entry="${entry%"${entry##*[![:space:]]}"}"
		if [[ -n "$entry" ]]; then
			printf -v out '%s%s,' "$out" "$entry"
		fi
	done
	printf '%s' "${out%,}"
}

function driver_build_command {
	local file="$1" context="$2" session="$3" tools prompt
	[[ -f "$file" ]] || return 1
	prompt=$(<"$file")
	CLAUDE_CMD_ARGS=("$_qwen_team_bin" --output-format "${CLAUDE_OUTPUT_FORMAT:-json}" --approval-mode yolo)
	tools=$(_qwen_team_trimmed "${CLAUDE_ALLOWED_TOOLS:-}")
	if [[ -n "$tools" ]]; then
		CLAUDE_CMD_ARGS+=(--allowed-tools "$tools")
	fi
	if [[ "${CLAUDE_USE_CONTINUE:-true}" = true ]] && [[ -n "$session" ]]; then
		CLAUDE_CMD_ARGS+=(--resume "$session")
	fi
	if [[ -n "$context" ]]; then
		CLAUDE_CMD_ARGS+=(--append-system-prompt "$context")
	fi
	CLAUDE_CMD_ARGS+=("--prompt=$prompt")
}

function driver_prepare_live_command {
	local i
	LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}")
	for ((i = 1; i < ${#LIVE_CMD_ARGS[@]}; i++)); do
		if [[ "${LIVE_CMD_ARGS[i - 1]}" == "--output-format" ]]; then
			LIVE_CMD_ARGS[i]=stream-json
			break
		fi
	done
}

function driver_stream_filter {
	cat <<-'JQ'
		select(.type == "assistant" and (.message | type) == "object")
		| .message.content[]?
		| select(.type == "text")
		| .text + "\n"
	JQ
}

# json is one array, stream-json a line for each event: both carry the id in every event
function driver_extract_session_id_from_output {
	[[ -f "$1" ]] || return 0
	jq -Rr 'fromjson? | (arrays | .[0]), objects | objects | select(.type == "system") | .session_id // empty' "$1" 2>/dev/null | sed -n 1p
}
