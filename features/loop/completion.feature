Feature: A loop ends when the work is done
  The agent says after each run how far it is. One claim to be done proves nothing; a second one does, and a plan
  whose boxes are all ticked does at once.

  Background:
    Given a bmalph project with the tasks "one, two, three"

  Scenario: Every task is ticked
    Given the agent ticks a task in every run
    When the loop runs
    Then it ends with exit code 0
    And the status is "completed" because of "plan_complete"
    And the agent was called 3 times
    And "Ralph has completed the project" is in the log

  Scenario: The agent calls the work complete twice
    Given the agent calls the work complete in every run
    When the loop runs
    Then it ends with exit code 0
    And the status is "completed" because of "completion_signals"
    And the agent was called 2 times

  Scenario: It says "done" and EXIT_SIGNAL false
    Given the agent says "All done and complete." but EXIT_SIGNAL false
    When the loop runs for at most 3 iterations
    Then it ends with exit code 1
    And the status is "stopped" because of "max_iterations"

  Scenario: It claims a task that it has not ticked
    Given the agent calls the work complete, with a task that it has not ticked
    When the loop runs for at most 3 iterations
    Then it ends with exit code 1
    And "Progress mismatch" is in the log

  Scenario: A plan that is done already
    Given a fix plan that says "- [x] one"
    When the loop runs
    Then it ends with exit code 0
    And the agent was not called
