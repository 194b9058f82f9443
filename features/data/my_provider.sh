#!/usr/bin/env bash
# Provider adapter for My Provider: a ralph loop sources this file, builds a command with it, and has it read the answer.
#
# To adapt it: the options of your CLI in agent_my_provider_build_command, and the shape of what it prints, here one JSON
# document per line, in agent_my_provider_normalize_response.
# `ralph-bridge explain agent_NAME_build_command` says what a hook has to do, `ralph-bridge verify` whether it does.
# Nothing newer than bash 3.2, which macOS has.
# shellcheck disable=SC2034  # the loop reads CLAUDE_CMD_ARGS

AGENT_MY_PROVIDER_CAPABILITIES="supports_session_resume"

# agent_my_provider_has_capability CAPABILITY: 0 where it is one of them.
agent_my_provider_has_capability() {
    case " $AGENT_MY_PROVIDER_CAPABILITIES " in
    *" $1 "*) return 0 ;;
    *) return 1 ;;
    esac
}

# agent_my_provider_build_command PROMPT_FILE LOOP_CONTEXT SESSION_ID: fills CLAUDE_CMD_ARGS, the whole command.
agent_my_provider_build_command() {
    CLAUDE_CMD_ARGS=()
    if [[ ! -f "$1" ]]; then
        echo "no prompt file: $1" >&2
        return 1
    fi
    CLAUDE_CMD_ARGS=("${MY_PROVIDER_CMD:-my_provider}" "--output" "json-lines")
    if [[ -n "${CLAUDE_MODEL:-}" ]]; then
        CLAUDE_CMD_ARGS+=("--model" "$CLAUDE_MODEL")
    fi
    if [[ "${CLAUDE_USE_CONTINUE:-true}" == "true" && -n "$3" ]]; then
        CLAUDE_CMD_ARGS+=("--session" "$3")
    fi
    # The context stands in front of the prompt: most CLIs have no option for it.
    CLAUDE_CMD_ARGS+=("--prompt" "${2:+$2$'\n\n'}$(cat "$1")")
}

# agent_my_provider_detect_format OUTPUT_FILE: json where the function below can read it, else text, which loops read.
agent_my_provider_detect_format() {
    if [[ -s "$1" ]] && jq -es 'length > 0 and all(type == "object")' "$1" >/dev/null 2>&1; then
        echo "json"
    else
        echo "text"
    fi
}

# agent_my_provider_normalize_response OUTPUT_FILE [RESULT_FILE]: the answer, as one JSON object for the loop.
agent_my_provider_normalize_response() {
    # shellcheck disable=SC2016  # jq's variables
    jq -s '
        def word($name): [match("(?m)^\\s*" + $name + ":\\s*(\\S+)"; "g").captures[0].string] | last // "";
        ([.[] | select(.type == "assistant") | .text] | join("\n")) as $said
        | ([.[] | .session_id // empty] | first // "") as $session
        | (map(select(.type == "error")) | length) as $errors
        | ($said | if contains("---RALPH_STATUS---") then split("---RALPH_STATUS---") | last else "" end) as $block
        | ($block | word("STATUS")) as $status
        | ($block | word("EXIT_SIGNAL")) as $exit
        | ($exit == "true" or ($exit == "" and $status == "COMPLETE")) as $exits
        | {
            status: (if $status == "" then "UNKNOWN" else $status end),
            exit_signal: $exits,
            has_completion_signal: ($exits or $status == "COMPLETE"),
            is_test_only: ($block | word("WORK_TYPE") == "TESTING"),
            is_stuck: ($errors > 5),
            files_modified: 0,
            error_count: $errors,
            summary: $said,
            loop_number: 0,
            session_id: $session,
            confidence: 0,
            has_permission_denials: false,
            permission_denial_count: 0,
            denied_commands: [],
            metadata: {loop_number: 0, session_id: $session}
        }' "$1" >"${2:-${RALPH_DIR:-.ralph}/.json_parse_result}"
}
