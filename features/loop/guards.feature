Feature: A loop that gets nowhere stops
  The circuit breaker, the permission policy and the quality gates keep a night from being wasted.

  Background:
    Given a bmalph project with the tasks "one, two, three"

  Scenario: Nothing changes
    Given the agent does nothing in every run
    When the loop runs
    Then it ends with exit code 1
    And the status is "halted" because of "stagnation_detected"
    And the agent was called 3 times
    And the circuit breaker is "OPEN"

  Scenario: An open breaker starts nothing
    Given the agent does nothing in every run
    When the loop runs
    And the loop runs
    Then the agent was called 3 times
    And the status is "halted" because of "stagnation_detected"

  Scenario: A tool is refused
    Given the agent is refused a tool in every run
    When the loop runs for at most 2 iterations
    Then it ends with exit code 1
    And the agent was called 2 times

  Scenario: A tool is refused, and that is to halt the loop
    Given the agent is refused a tool in every run
    And PERMISSION_DENIAL_MODE is "halt"
    When the loop runs
    Then it ends with exit code 1
    And the status is "halted" because of "permission_denied"
    And the agent was called 1 time

  Scenario Outline: A gate fails in mode <mode>
    Given the agent calls the work complete in every run
    And TEST_COMMAND is "echo broken; false"
    And QUALITY_GATE_MODE is "<mode>"
    When the loop runs for at most 3 iterations
    Then the status is "<status>" because of "<reason>"

    Examples:
      | mode            | status    | reason             |
      | warn            | completed | completion_signals |
      | block           | stopped   | max_iterations     |
      | circuit-breaker | completed | completion_signals |

  Scenario: The hour's calls are used up
    Given MAX_CALLS_PER_HOUR is "1"
    And the agent calls the work complete in every run
    When the loop is started
    Then it comes to wait with "rate_limit"
    And the agent was called 1 time

  Scenario: Two loops in one project
    Given the agent waits for a sign in its first run
    When the loop is started
    And another one is started beside it
    Then the other one is refused with exit code 4
    And the agent was called 1 time
