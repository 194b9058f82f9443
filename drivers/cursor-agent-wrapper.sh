#!/usr/bin/env bash
# Usage: cursor-agent-wrapper.sh PATH/TO/cursor-agent.cmd [ARGUMENT...]
#
# Starts a Windows .cmd file for programs that can't do it themselves. Git Bash starts it like any program and
# quotes the arguments; where it doesn't take the file for executable, cmd.exe is asked to.

if (($# == 0)); then
    echo "usage: ${0##*/} CURSOR_AGENT_CMD [ARGUMENT...]" >&2
    exit 2
fi
if [[ ! -f "$1" ]]; then
    echo "${0##*/}: no such file: $1" >&2
    exit 127
fi
if [[ ! -x "$1" ]] && command -v cmd.exe >/dev/null 2>&1; then
    exec cmd.exe //d //c "$@"
fi
exec "$@"
