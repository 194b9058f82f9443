#!/usr/bin/env bash
# always the newest gemini, straight from npm; nothing is installed globally

driver_name()         { echo "gemini-npx"; }
driver_display_name() { echo "Gemini CLI via npx"; }
driver_cli_binary()   { echo "npx"; }
driver_min_version()  { echo "10.0.0"; }
driver_check_available() { command -v npx >/dev/null 2>&1 && command -v node >/dev/null 2>&1; }

driver_valid_tools() {
	VALID_TOOL_PATTERNS=(read_file write_file replace run_shell_command glob)
}
driver_supports_tool_allowlist() { return 1; }

driver_build_command() {
	local -r file=$1 context=$2 session=$3
	[[ -s $file ]] || { echo "gemini-npx: $file is empty or missing" >&2; return 1; }

	local body; body=$(< "$file")
	if [[ $context ]]; then body=$context$'\n'$'\n'$body; fi
	local -a args=(--output-format json --approval-mode=yolo --skip-trust)
	if [[ $CLAUDE_USE_CONTINUE == true && $session ]]; then
		args+=("--resume=$session")
	fi
	args+=("--prompt=$body")
	CLAUDE_CMD_ARGS=(npx --yes @google/gemini-cli@latest "${args[@]}")
}

driver_prepare_live_command() {
	LIVE_CMD_ARGS=(npx --yes @google/gemini-cli@latest --output-format stream-json "${CLAUDE_CMD_ARGS[@]:5}")
}

driver_stream_filter() {
	echo 'if (.type == "message") and (.role == "assistant") then (.content | strings) elif .type == "tool_use" then "\n[\(.tool_name)]\n" else empty end'
}
