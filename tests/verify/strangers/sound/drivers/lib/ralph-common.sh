# helpers for our drivers; sourced, not run

rc_die() { echo "${FUNCNAME[1]}: $*" >&2; return 1; }

# rc_resuming SESSION: may this session be resumed?
rc_resuming() { [[ "${CLAUDE_USE_CONTINUE:-false}" == "true" && -n "$1" ]]; }

# rc_opt NAME VALUE: appends the option when there is a value
rc_opt() {
    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("$1" "$2"); fi
}
