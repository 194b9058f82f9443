# Kilo Code CLI.  Everything that is text is a here-document.

driver_name() { cat <<END
kilo-here
END
}
driver_display_name() { cat <<END
Kilo Code
END
}
driver_cli_binary() { cat <<END
kilocode
END
}
driver_min_version() { cat <<END
0.22.0
END
}
driver_check_available() { command -v kilocode >/dev/null 2>&1; }
driver_supports_tool_allowlist() { false; }
driver_supports_sessions() { true; }
driver_supports_live_output() { true; }
driver_valid_tools() {
    VALID_TOOL_PATTERNS=()
    while read -r pattern; do
        VALID_TOOL_PATTERNS+=("$pattern")
    done <<END
read
write
edit
execute_command
browser_action
END
    unset pattern
}
driver_permission_denial_help() { cat <<END
$DRIVER_DISPLAY_NAME asked for something that --auto does not cover.
Edit autoApproval in ~/.kilocode/cli/config.json, or see ${RALPHRC_FILE}.
END
}
driver_build_command() {
    local prompt_file=${1-} loop_context=${2-} session_id=${3-} prompt
    if [ ! -f "$prompt_file" ]; then return 1; fi
    prompt=$(cat <<END
${loop_context:+$loop_context

}$(cat "$prompt_file")
END
)
    CLAUDE_CMD_ARGS=(kilocode --auto --json --nosplash)
    if [ "$CLAUDE_USE_CONTINUE" = true -a -n "$session_id" ]; then
        CLAUDE_CMD_ARGS+=(--session "$session_id")
    fi
    CLAUDE_CMD_ARGS+=("$prompt")
}
driver_stream_filter() { cat <<'END'
select(.type == "say" and .say == "text" and .partial != true) | .content + "\n"
END
}
driver_extract_session_id_from_output() {
    local line id=
    while IFS= read -r line; do
        [[ $line == *'"event":"session_created"'* && $line =~ \"sessionId\":\"([^\"]+)\" ]] && id=${BASH_REMATCH[1]}
    done < "$1"
    [ -z "$id" ] || echo "$id"
}
