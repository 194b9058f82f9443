#!/usr/bin/env bash
# goose, with node for JSON: our image has node and no jq

AGENT_CLI="goose"

_goose_node='
const show = process.argv[1] === "display";
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  let event;
  try { event = JSON.parse(line); } catch { return; }
  if (!event || event.type !== "message" || !event.message || event.message.role !== "assistant") return;
  for (const part of event.message.content || []) {
    if (part.type === "text") console.log(part.text);
    else if (show && part.type === "toolRequest") console.log("[tool] " + ((part.toolCall || {}).value || {}).name);
  }
});
'

agent_invoke() {
    goose run --no-session --quiet --output-format stream-json -i - <"$1"
}

agent_extract_response() {
    node -e "$_goose_node" response <"$1"
}

agent_format_display() {
    node -e "$_goose_node" display
}
