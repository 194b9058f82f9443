#!/usr/bin/env bash
# pi --mode json
AGENT_CLI="pi"
AGENT_ARGS="--mode json --no-session --print"

agent_invoke() {
    local prompt_file="$1"
    cat "$prompt_file" | $AGENT_CLI $AGENT_ARGS
}

# node is there when pi is, jq may not be
_pi_js='
const mode = process.argv[1];
require("readline").createInterface({ input: process.stdin, crlfDelay: Infinity }).on("line", (line) => {
  let event;
  try { event = JSON.parse(line); } catch { return; }
  if (!event || typeof event !== "object") return;
  if (event.type === "message_end" && event.message && event.message.role === "assistant") {
    for (const part of Array.isArray(event.message.content) ? event.message.content : []) {
      if (part && part.type === "text") console.log(part.text);
      else if (part && part.type === "toolCall" && mode === "display") console.log("[tool] " + part.name);
    }
  }
});'

agent_extract_response() {
    node -e "$_pi_js" response < "$1"
}

agent_format_display() {
    node -e "$_pi_js" display
}

agent_post_iteration() {
    local output="${RALPH_DIR:-.}/last_agent_output" cost
    [[ -r "$output" ]] || return 0
    cost=$(grep -F '"type":"message_end"' "$output" | grep -Eo '"total":[0-9.]+' | cut -d: -f2 | awk '{ s += $1 } END { printf "%.4f", s }') || true
    log "Iteration Cost: \$${cost:-0}"
}
