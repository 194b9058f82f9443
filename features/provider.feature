@provider
Feature: What a loop needs of a provider adapter
  A provider adapter, lib/agents/NAME.sh, stands between a loop and one CLI: agent_NAME_build_command fills
  CLAUDE_CMD_ARGS with a command, agent_NAME_detect_format and agent_NAME_normalize_response read what the CLI has
  printed, agent_NAME_has_capability says what can be counted on. AGENT_PROVIDER=NAME chooses it.

  Scenario: The adapter is sourced
    When the script is verified
    Then sourcing it succeeds (RB051)
    And sourcing it prints nothing (RB052)
    And required functions are there after sourcing (RB059)
    And the file has the name of its adapter (RB046)

  Scenario: The command of an adapter
    When the script is verified
    Then the command has the prompt as it is (RB191)
    And without a prompt there is no command (RB192)
    And the context reaches the agent (RB193)
    And a session goes on when that is wanted, and only then (RB194)

  Scenario: The record of an adapter
    When the script is verified
    Then the format is json or text (RB195)
    And the record is whole (RB196)

  Scenario: The answer of a CLI whose output is recorded
    When the script is verified
    Then the record has what the assistant says (RB197)

  Scenario: The end of the loop
    When the script is verified
    Then the status block decides (RB198)

  Scenario: What the next turn of an adapter needs
    When the script is verified
    Then the session's id is found (RB199)
    And capabilities are answered as they are declared (RB066)
