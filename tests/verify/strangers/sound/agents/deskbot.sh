#!/usr/bin/env bash
# deskbot writes a transcript, no JSON: every line has its speaker in front.
#   YOU> ...   BOT> ...   SH> ... (what a command printed)   -- ... (status)

AGENT_CLI="deskbot"

agent_invoke() {
    "$AGENT_CLI" --batch --plain < "$1"
}

agent_extract_response() {
    sed -n 's/^BOT> //p' "$1"
}

agent_format_display() {
    local line
    while IFS= read -r line || [ -n "$line" ]; do
        case "$line" in
            "BOT> "*) echo "${line#BOT> }" ;;
            "-- running "*) echo "[${line#-- running }]" ;;
        esac
    done
}
