@agent @lifting @slow @shipped
Feature: Hooks that start a jq for every line run in one jq, and nobody can tell
  A hook that only puts each line through jq needs no jq per line: one jq gets all the lines, a thousand times
  faster. What it prints is byte for byte what bash prints with the jq that is installed; a hook that isn't
  understood completely is left to bash.

  Rule: The same bytes, lifted, not lifted, and from bash itself

    @own_tests @recorded
    Scenario: On what the CLI prints today
      Given the recorded output of the CLI
      When the host extracts and shows it, lifted and not lifted
      Then all give the bytes that bash itself gives

    @own_tests
    Scenario: On lines at which shells and JSON readers differ
      Given an output of odd lines
      When the host extracts and shows it, lifted and not lifted
      Then all give the bytes that bash itself gives

    @own_tests @recorded
    Scenario: With a last line that no newline ends
      Given the recorded output of the CLI
      But its last line is not ended
      When the host extracts and shows it, lifted and not lifted
      Then lifted and not lifted give the same

  Rule: So it is with every form that scripts of the field have

    @once
    Scenario: echo, and a variable that is not local
      Given the minimal agent with
        """
        agent_extract_response() {
            while IFS= read -r line; do
                echo "$line" | jq -r 'select(.type == "assistant") | .text' 2>/dev/null || true
            done < "$1"
        }
        """
      And an output of odd lines
      When the host extracts and shows it, lifted and not lifted
      Then all give the bytes that bash itself gives

    @once
    Scenario: A here-string, and lines that are passed over
      Given the minimal agent with
        """
        agent_extract_response() {
            local file="$1" line
            while IFS= read -r line || [[ -n "$line" ]]; do
                [[ -n "$line" ]] || continue
                jq -r 'select(.type=="assistant") | .text' <<< "$line" 2>/dev/null || true
            done < "$file"
        }
        """
      And an output of odd lines
      When the host extracts and shows it, lifted and not lifted
      Then all give the bytes that bash itself gives

    @once
    Scenario: One jq for the whole file that takes each line by itself
      Given the minimal agent with
        """
        agent_extract_response() {
            jq -R -r 'fromjson? | objects | select(.type == "assistant") | .text' "$1"
        }
        """
      And an output of odd lines
      When the host extracts and shows it, lifted and not lifted
      Then all give the bytes that bash itself gives

    @once
    Scenario: Arguments for jq, and output without newlines
      Given the minimal agent with
        """
        agent_format_display() {
            while read -r line; do
                printf '%s' "$line" | jq -j --arg who assistant 'select(.type == $who) | .text + "\n"' 2>/dev/null || true
            done
        }
        """
      And an output of odd lines
      When the host extracts and shows it, lifted and not lifted
      Then all give the bytes that bash itself gives

  Rule: The smallest doubt, and bash runs it

    @once
    Scenario Outline: <what> is not lifted, and gives the same
      Given the minimal agent with
        """
        agent_extract_response() {
            while IFS= read -r line; do
                <body>
            done < "$1"
        }
        """
      And an output of odd lines
      When the host extracts and shows it, lifted and not lifted
      Then all give the bytes that bash itself gives

      Examples:
        | what                       | body                                                                    |
        | A look at the environment  | echo "$line" \| jq -r '.text, env.HOME' 2>/dev/null \|\| true           |
        | A count of lines           | count=$((${count:-0} + 1)); echo "$count $line"                         |
