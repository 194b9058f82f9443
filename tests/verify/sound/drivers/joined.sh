#!/bin/bash
# Everything joined to its option with an equals sign; the CLI takes the prompt as a path.
readonly JOINED_CLI="joined-cli"
declare -a JOINED_BASE=("$JOINED_CLI" --non-interactive)

driver_name() { printf 'joined\n'; }
driver_display_name() { printf 'Joined (beta)\n'; }
driver_cli_binary() { printf '%s\n' "$JOINED_CLI"; }
driver_valid_tools() {
    VALID_TOOL_PATTERNS=(fs.read fs.write 'shell(*)')
}
driver_supports_tool_allowlist() { true; }
driver_supports_sessions() { true; }
driver_supports_live_output() { false; }
driver_min_version() { printf '3.0.0-rc.1\n'; }
driver_check_available() { type -P "$JOINED_CLI" >/dev/null; }
driver_build_command() {
    local file=$1 context=$2 session=$3
    if ! [[ -r $file && -f $file ]]; then
        printf >&2 'joined: cannot read %s\n' "$file"
        return 2
    fi
    CLAUDE_CMD_ARGS=("${JOINED_BASE[@]}" "--prompt-file=$file")
    case ${CLAUDE_USE_CONTINUE-} in
        true) [[ $session ]] && CLAUDE_CMD_ARGS+=("--session=$session") ;;
        *) CLAUDE_CMD_ARGS+=(--fresh) ;;
    esac
    [[ $context ]] && CLAUDE_CMD_ARGS+=("--context=$context")
    [[ ${CLAUDE_ALLOWED_TOOLS-} ]] && CLAUDE_CMD_ARGS+=("--allow=$CLAUDE_ALLOWED_TOOLS")
    return 0
}
