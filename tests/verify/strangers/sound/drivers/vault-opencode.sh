#!/usr/bin/env bash
# opencode by bunx; keys by doppler

driver_name () { echo vault-opencode ; }
driver_display_name () { echo "OpenCode (bunx)" ; }
driver_cli_binary () { echo bunx ; }
driver_min_version () { echo 1.2.0 ; }
driver_check_available () { command -v bunx > /dev/null && command -v doppler > /dev/null ; }
driver_valid_tools () { VALID_TOOL_PATTERNS=( bash edit glob grep read task todowrite webfetch write ) ; }
driver_supports_tool_allowlist () { return 1 ; }
driver_supports_sessions () { return 0 ; }
driver_supports_live_output () { return 0 ; }

driver_build_command () {
    local prompt_file=$1 loop_context=$2 session_id=$3
    local -a before after
    [[ -f $prompt_file ]] || { echo >&2 "$prompt_file: no such prompt" ; return 1 ; }

    before=( doppler run --silent -- bunx opencode-ai run )
    after=( --format json )
    if [[ $CLAUDE_USE_CONTINUE = true && $session_id ]] ; then
        after=( --session "$session_id" "${after[@]}" )
    fi
    CLAUDE_CMD_ARGS=( "${before[@]}" "${after[@]}" --file "$prompt_file" -- "${loop_context:-Work on the attached prompt.}" )
}

driver_prepare_live_command () { LIVE_CMD_ARGS=( "${CLAUDE_CMD_ARGS[@]}" ) ; }

driver_stream_filter () {
    local text='.part.text // "" | select(. != "") | . + "\n"'
    local tool='"[" + (.part.tool // "tool") + "]\n"'
    printf 'if .type == "text" then (%s) elif .type == "tool_use" then (%s) else empty end\n' "$text" "$tool"
}

driver_extract_session_id_from_output () {
    local line
    while IFS= read -r line ; do
        if [[ $line =~ ^\{.*\"sessionID\":\"(ses_[[:alnum:]]+)\" ]] ; then
            printf '%s\n' "${BASH_REMATCH[1]}"
            break
        fi
    done < "$1"
}
