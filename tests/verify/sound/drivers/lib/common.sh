# shellcheck shell=bash
# Shared by the drivers of this folder.
rdl_read_prompt() {
  local file="$1"
  if [[ ! -r "$file" ]]; then
    printf 'cannot read the prompt: %s\n' "$file" >&2
    return 1
  fi
  cat -- "$file"
}
rdl_have() { command -v "$1" >/dev/null 2>&1; }
