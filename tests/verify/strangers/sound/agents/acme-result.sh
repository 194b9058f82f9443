#!/usr/bin/env bash
# acme-code writes progress as text and, as its last line, one JSON result

function agent_invoke() {
  local prompt_file=$1 args=(--headless --yes)
  if [[ -n $ACME_MODEL ]]; then args+=(--model "$ACME_MODEL"); fi
  "$AGENT_CLI" "${args[@]}" < "$prompt_file"
}

function agent_extract_response() {
  local line answer
  while IFS= read -r line || [[ -n $line ]]; do
    [[ $line == '{"result":'* ]] || continue
    answer=$(jq -r '.result.answer // empty' <<< "$line" 2> /dev/null) || continue
    if [[ -n $answer ]]; then printf '%s\n' "$answer"; fi
  done < "$1"
}

function agent_format_display() {
  local line
  while IFS= read -r line || [[ -n $line ]]; do
    if [[ $line == '{"result":'* ]]; then
      jq -r '.result.answer // empty' <<< "$line" 2> /dev/null || true
    else
      echo "$line"
    fi
  done
}

AGENT_CLI=acme-code
ACME_MODEL=${ACME_MODEL:-}
