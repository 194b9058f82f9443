@once @skeleton
Feature: Starting a driver of your own
  features/data/my-platform.sh is the smallest driver worth having. `ralph-bridge new driver NAME` makes one of yours
  of it, with the five required hooks; the rest can come later.

  Background:
    Given the minimal driver
    And a prompt file ".ralph/PROMPT.md" that says "Do the next task."

  Scenario: It is a driver
    When the driver is loaded
    Then loading it printed nothing
    And driver_name prints "my-platform"
    And driver_display_name prints "My Platform"
    And driver_cli_binary prints "my-platform"
    And the valid tools are "Read", "Write", "Edit", "Bash"
    And no function looks like a misspelt hook

  Scenario Outline: It builds a command with <context>, <session>, and continuing <continue>
    Given CLAUDE_USE_CONTINUE is "<continue>"
    When the command is built with the context "<context>" and the session "<session>"
    Then the command is
      """
      my-platform --prompt .ralph/PROMPT.md --output-format json <more>
      """
    And the command is what bash itself yields

    Examples:
      | context | session | continue | more                              |
      |         |         | true     |                                   |
      |         | sid-1   | true     | --session sid-1                   |
      |         | sid-1   | false    |                                   |
      | Loop 3. |         | true     | --context 'Loop 3.'               |
      | Loop 3. | sid-1   | true     | --session sid-1 --context 'Loop 3.' |
      | Loop 3. | sid-1   | false    | --context 'Loop 3.'               |

  Scenario: It honours the output format
    Given CLAUDE_OUTPUT_FORMAT is "text"
    When the command is built
    Then the command has "--output-format" followed by "text"

  Scenario: It refuses a prompt file that is not there
    When the command is built for the prompt file ".ralph/OTHER.md"
    Then driver_build_command fails with status 1
    And it says why on stderr

  Scenario: What it says about itself, and what is assumed
    Given RALPHRC_FILE is ".ralphrc"
    When the driver is loaded
    Then it does not support tool allowlists
    And it supports sessions
    And it supports live output
    And the filter is "empty"
    And its help on refused permissions names "My Platform" and ".ralphrc"
    And version 1.0.0 or newer is needed

  Scenario: Its live command is a copy
    When the command is built
    And the live command is prepared
    Then the live command is the built command

  Scenario: Hooks can be added as the need arises
    Given the minimal driver with
      """
      driver_supports_live_output() { return 1; }
      driver_extract_session_id_from_output() { sed -n 's/^Session: //p' "$1"; }
      """
    And the CLI printed
      """
      Session: mine-1
      """
    When the session id is looked for
    Then it does not support live output
    And the session id is "mine-1", found by the driver step

  Scenario: A command can be built in any way that bash knows
    Given the minimal driver with
      """
      driver_build_command() {
          local -a words=(my-platform)
          local word
          [[ -f "$1" ]] || return 1
          for word in --prompt "$1" --note "a  b"; do
              words[${#words[@]}]="$word"
          done
          printf -v words[9] '%s' "sparse"
          CLAUDE_CMD_ARGS=("${words[@]}")
      }
      """
    When the command is built
    Then the command is
      """
      my-platform --prompt .ralph/PROMPT.md --note 'a  b' sparse
      """
    And the command is what bash itself yields
