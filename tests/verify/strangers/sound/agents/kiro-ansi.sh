#!/usr/bin/env bash
# kiro-cli writes colours, even into a pipe

AGENT_CLI="kiro-cli"

_kiro_plain() {
    sed -u -e 's/\x1b\[[0-9;?]*[A-Za-z]//g' -e 's/\r$//'
}

agent_invoke() {
    NO_COLOR=1 kiro-cli chat --no-interactive --trust-all-tools --wrap never <"$1"
}

agent_extract_response() {
    _kiro_plain <"$1" | sed -n 's/^> //; /./p'
}

agent_format_display() {
    _kiro_plain
}
