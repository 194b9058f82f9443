#!/usr/bin/env bash
# qwen, read by node: where qwen runs, node is.

AGENT_CLI="qwen"
AGENT_ARGS="--yolo --output-format stream-json"
AGENT_INSTALL="npm install -g @qwen-code/qwen-code"

agent_invoke() {
  local prompt_file="$1"
  cat "$prompt_file" | $AGENT_CLI $AGENT_ARGS
}

qwen_read() {
  node -e '
    const tools = process.argv[1] === "tools";
    const lines = require("readline").createInterface({ input: process.stdin, crlfDelay: Infinity });
    lines.on("line", (line) => {
      let event;
      try { event = JSON.parse(line); } catch { return; }
      if (!event || event.type !== "assistant" || !event.message) return;
      for (const part of event.message.content || []) {
        if (part.type === "text") process.stdout.write(part.text + "\n");
        else if (part.type === "tool_use" && tools) process.stdout.write("[tool] " + part.name + "\n");
      }
    });
  ' "$1"
}

agent_extract_response() { qwen_read text < "$1"; }
agent_format_display() { qwen_read tools; }
