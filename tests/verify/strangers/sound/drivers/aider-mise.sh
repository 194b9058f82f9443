# aider, from whatever python mise has for the project
driver_name() { echo aider-mise; }
driver_display_name() { echo aider; }
driver_cli_binary() { echo mise; }
driver_min_version() { echo 0.86.0; }
driver_check_available() { command -v mise >/dev/null && mise which aider >/dev/null 2>&1; }
driver_supports_sessions() { return 1; }
driver_supports_live_output() { return 1; }
driver_supports_tool_allowlist() { return 1; }
driver_valid_tools() { VALID_TOOL_PATTERNS=("*"); }
driver_permission_denial_help() { echo "aider asks for nothing with --yes-always; see ${RALPHRC_FILE:-.ralphrc}"; }

driver_build_command() {
	local p
	if test ! -f "$1"; then echo "no prompt $1" >&2; return 1; fi
	p=$(<"$1")
	p=${2:+"$2

"}$p
	set -- mise exec --
	set -- "$@" aider --yes-always --no-auto-lint --no-show-release-notes
	if [ "${AIDER_MODEL-}" ]; then set -- "$@" --model "$AIDER_MODEL"; fi
	set -- "$@" --message "$p"
	CLAUDE_CMD_ARGS=("$@")
}
