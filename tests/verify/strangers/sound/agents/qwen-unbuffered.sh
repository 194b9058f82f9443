#!/bin/bash
#-----------------------------------------------------------------------
# qwen; what the assistant says is the response, and is shown
#-----------------------------------------------------------------------
AGENT_CLI="qwen"
AGENT_ARGS="--output-format stream-json --approval-mode yolo"

agent_invoke ()
{
	local prompt_file="$1"
	local status=0

	timeout 5400 $AGENT_CLI $AGENT_ARGS < "$prompt_file" || status=$?
	if [ "$status" -eq 124 ]; then
		echo "qwen: ended after 90 minutes" >&2
	fi
	return "$status"
}

agent_extract_response ()
{
	local output_file="$1"

	jq -R -r 'fromjson? | select(type == "object" and .type == "assistant")
		| .message.content | if type == "array" then .[] else empty end
		| select(.type == "text") | .text' "$output_file"
}

agent_format_display ()
{
	stdbuf -oL jq -R -r --unbuffered 'fromjson? | select(type == "object" and .type == "assistant")
		| .message.content | if type == "array" then .[] else empty end
		| if .type == "text" then .text elif .type == "tool_use" then "[\(.name)]" else empty end'
}
