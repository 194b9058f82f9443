driver_name(){ echo llm;};driver_display_name(){ echo LLM;};driver_cli_binary(){ echo llm;}
driver_min_version(){ echo 0.1.0;};driver_check_available(){ command -v llm >/dev/null 2>&1;};driver_valid_tools(){ VALID_TOOL_PATTERNS=(a b);}
driver_supports_sessions(){ return 1;};driver_supports_live_output(){ return 1;}
driver_build_command(){ local f=$1 c=$2 p;CLAUDE_CMD_ARGS=() p=;[ -f "$f" ]||return 1;p=$(cat "$f");[ -z "$c" ]||p="$c"$'\n\n'"$p";CLAUDE_CMD_ARGS+=(llm prompt -- "$p");}
