#!/usr/bin/env bash
# aider: one message per run, plain text, no sessions (it keeps .aider.chat.history.md by itself).

driver_name() {
	echo "aider"
}

driver_display_name() {
	echo "Aider"
}

driver_cli_binary() {
	echo "aider"
}

driver_valid_tools() {
	# aider has no tools; the loop wants something to compare with.
	VALID_TOOL_PATTERNS=("edit" "run" "lint" "test")
}

driver_build_command() {
	local prompt_file="$1"
	local loop_context="$2"
	local message

	if [[ ! -f "$prompt_file" ]]; then
		echo "ERROR: Prompt file not found: $prompt_file" >&2
		return 1
	fi

	message=$(cat -- "$prompt_file")
	if [[ -n "$loop_context" ]]; then
		printf -v message '%s\n\n%s' "$loop_context" "$message"
	fi

	CLAUDE_CMD_ARGS=("aider")
	CLAUDE_CMD_ARGS+=("--yes-always")
	CLAUDE_CMD_ARGS+=("--no-pretty")
	CLAUDE_CMD_ARGS+=("--no-stream")
	CLAUDE_CMD_ARGS+=("--no-check-update")
	if [[ -n "${AIDER_MODEL:-}" ]]; then
		CLAUDE_CMD_ARGS+=("--model" "$AIDER_MODEL")
	fi
	CLAUDE_CMD_ARGS+=("--message=$message")
	return 0
}

driver_supports_tool_allowlist() {
	return 1
}

driver_supports_sessions() {
	return 1
}

driver_supports_live_output() {
	return 1
}

driver_permission_denial_help() {
	echo "$DRIVER_DISPLAY_NAME never asks (--yes-always)."
	echo "If it can't write, look at the permissions of the files, then at $RALPHRC_FILE."
}

driver_stream_filter() {
	echo "."
}

driver_min_version() {
	echo "0.82.0"
}

driver_check_available() {
	command -v aider &>/dev/null
}
