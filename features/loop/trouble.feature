Feature: A loop survives what goes wrong
  A run that fails is repeated, later and later. A provider's limit is waited out. What a run has done before its
  time was up counts.

  Background:
    Given a bmalph project with the tasks "one, two, three"

  Scenario: The agent's program fails and recovers
    Given the agent fails in its first 2 runs
    And the agent calls the work complete from then on
    When the loop runs
    Then it ends with exit code 0
    And the agent was called 4 times
    And "exit status 1" is in the log

  Scenario: It fails for ever
    Given the agent fails in every run
    And RALPH_BRIDGE_RETRY_LIMIT is "3"
    When the loop runs
    Then it ends with exit code 1
    And the status is "halted" because of "consecutive_failures"
    And the agent was called 3 times

  Scenario: A limit is reached
    Given the agent reaches a limit in its first run
    And the agent calls the work complete from then on
    When the loop runs for at most 2 iterations
    Then it ends with exit code 0
    And the agent was called 3 times
    And "API limit" is in the log

  Scenario: A run is too long, and has done something
    Given the agent changes a file and then takes too long
    And the agent calls the work complete from then on
    And only 2 seconds are allowed for a run
    When the loop runs
    Then it ends with exit code 0
    And "it ran out of time, with work done" is in the log

  Scenario: A session that the program has forgotten
    Given the session "gone-1" is saved
    And the agent doesn't know the session "gone-1"
    And the agent calls the work complete from then on
    When the loop runs
    Then it ends with exit code 0
    And run 1 resumes "gone-1"
    And run 2 resumes nothing

  Scenario: Ctrl-C
    Given the agent waits for a sign in its first run
    When the loop is started
    And it gets Ctrl-C while the agent is at work
    Then it ends with exit code 130
    And no agent is left
    And the status is "stopped" because of "SIGINT"

  Scenario: Killed, and started again
    Given the agent changes and commits a file in every run, and waits for a sign in its second
    When the loop is started
    And it is killed while the agent is at work
    Then no agent is left
    Given the agent calls the work complete from then on
    When the loop runs
    Then it ends with exit code 0
    And every file can be read
