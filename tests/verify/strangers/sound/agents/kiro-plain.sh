#!/usr/bin/env bash
# kiro-cli: coloured text. There is no JSON, so the lines go through as they are, without the colours.
AGENT_CLI="kiro-cli"

agent_invoke() {
    local prompt_file="$1"
    NO_COLOR=1 "$AGENT_CLI" chat --no-interactive --trust-all-tools <"$prompt_file"
}

_kiro_plain() {
    local esc=$'\033' line
    while IFS= read -r line || [ -n "$line" ]; do
        while [[ $line =~ ^([^$esc]*)$esc\[[0-9\;?]*[A-Za-z](.*)$ ]]; do
            line=${BASH_REMATCH[1]}${BASH_REMATCH[2]}
        done
        printf '%s\n' "$line"
    done
}

agent_format_display() { _kiro_plain; }

# "> " begins an answer; "🛠 " and what is indented by " ● " are tools
agent_extract_response() {
    _kiro_plain <"$1" | while IFS= read -r line; do
        case "$line" in
            "🛠"* | " ● "* | " ↳ "*) ;;
            "> "*) printf '%s\n' "${line#> }" ;;
            *) printf '%s\n' "$line" ;;
        esac
    done
}
