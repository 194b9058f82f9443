#!/bin/bash
# auggie on the build farm. The agent runs on $AUGGIE_HOST (our work trees are on NFS, so the path is the same there).

_auggie_q() {  # single-quote $1 for the shell on the other side
  if [[ -z $1 ]]; then echo "''"; return; fi
  printf '%s' "$1" | sed -e "s/'/'\\\\''/g" -e "1s/^/'/" -e "\$s/\$/'/"
}

driver_name() { echo auggie-farm; }
driver_display_name() { echo "Auggie (build farm)"; }
driver_cli_binary() { echo ssh; }
driver_min_version() { echo 0.6.0; }
driver_check_available() { command -v ssh >/dev/null; }
driver_valid_tools() { VALID_TOOL_PATTERNS=(view save-file str-replace-editor remove-files launch-process web-fetch codebase-retrieval); }
driver_supports_tool_allowlist() { return 1; }
driver_supports_sessions() { return 0; }
driver_supports_live_output() { return 1; }
driver_permission_denial_help() {
  echo "auggie on ${AUGGIE_HOST:-farm01} may not do that; look at ~/.augment/settings.json over there."
}

driver_build_command() {
  [[ -f $1 ]] || return 1
  local prompt remote
  prompt=$(cat "$1"; echo x); prompt=${prompt%x}
  [[ -n $2 ]] && prompt="$2

$prompt"
  remote="cd $(_auggie_q "$PWD") && exec auggie --print --quiet"
  if [[ ${CLAUDE_OUTPUT_FORMAT:-json} == json ]]; then remote+=" --output-format json"; fi
  if [[ $CLAUDE_USE_CONTINUE == true && -n $3 ]]; then remote+=" --resume $(_auggie_q "$3")"; fi
  remote+=" --instruction $(_auggie_q "$prompt")"
  CLAUDE_CMD_ARGS=(ssh -T -o BatchMode=yes "${AUGGIE_HOST:-farm01}" "$remote")
  return 0
}
