@once @wiggum
Feature: Wiggum mode: long unattended runs
  A loop gives PROMPT.md to the agent again and again, until it gives the completion promise. Each scenario runs
  in a git repository of its own, with a scripted agent in the place of claude.

  Background:
    Given a project with a plan of 3 items

  # The table of test cases.

  Scenario: Simple task: a plan of 3 items is done in 3 iterations
    Given an agent that does "tick; work; echo did an item"
    When the loop is run
    Then it ends with the outcome "plan_complete" and exit status 0
    And the agent was run 3 times
    And the user is told "all 3 items of the fix plan are done after 3 iterations"

  @slow
  Scenario: Maximum iterations: an unfixable task stops at 50, with a warning
    Given an agent that does "work; echo tried again $TURN"
    When the loop is run
    Then it ends with the outcome "max_iterations" and exit status 1
    And the agent was run 50 times
    And the user is told "maximum iterations (50) reached"

  Scenario: Completion promise: all items are done, and the agent says so
    Given an agent that does "tick; tick; tick; work; promise"
    When the loop is run
    Then it ends with the outcome "complete" and exit status 0
    And the agent was run 1 times

  Scenario: Custom promise: only the text that was asked for counts
    Given an agent that does "work; promise COMPLETE; [ $TURN -lt 3 ] || promise DONE"
    When the loop is run with "--completion-promise DONE"
    Then it ends with the outcome "complete" and exit status 0
    And the agent was run 3 times

  Scenario: Fatal error: the loop ends at once
    Given an agent that does "work; echo '<fatal>no compiler here</fatal>'"
    When the loop is run
    Then it ends with the outcome "fatal" and exit status 5
    And the agent was run 1 times
    And the user is told "fatal: no compiler here"

  Scenario: Resume after a crash: the count goes on
    Given an agent that does "work; [ $TURN != 3 ] || kill -9 $LOOP; [ $TURN -lt 5 ] || promise"
    When the loop is run and killed
    Then the state says that iteration 3 is under way
    When the loop is run
    Then it ends with the outcome "complete" and exit status 0
    And the agent was run 5 times
    And the state says that 5 iterations are over
    And the user is told "iteration 3 was interrupted; its work is kept"

  Scenario: Circuit breaker: no changes in 3 iterations
    Given an agent that does "echo thinking"
    When the loop is run
    Then it ends with the outcome "no_file_changes" and exit status 6
    And the agent was run 3 times
    And the user is told "no file changes in 3 turns in a row"
    And the breaker is OPEN

  Scenario: Circuit breaker: the same error in 5 iterations
    Given an agent that does "work; echo Error: no such table: users, line $TURN"
    When the loop is run
    Then it ends with the outcome "repeated_error" and exit status 7
    And the agent was run 5 times
    And the user is told "repeated error"
    And the breaker is OPEN

  Scenario: Circuit breaker: an agent that fails in the same way 5 times
    Given an agent that does "echo Error: the socket is in use; exit 1"
    When the loop is run with "--retry-delay 0.1"
    Then it ends with the outcome "repeated_error" and exit status 7
    And the agent was run 5 times
    And the user is told "waiting 0.1 s: the turn failed"
    And the user is told "waiting 0.8 s: 4 turns in a row failed"

  Scenario: Git checkpoint: the work is committed before the agent is started again
    Given an agent that does "git log -1 --format=%s; work; work new.txt; [ $TURN != 3 ] || promise"
    When the loop is run
    Then it ends with the outcome "complete" and exit status 0
    And the commits are "ralph: checkpoint iteration 3", "ralph: checkpoint iteration 2", "ralph: checkpoint iteration 1", "init"
    And nothing is left uncommitted but the progress file

  Scenario: Progress file: it is brought up to date in each iteration
    Given an agent that does "tick; work; [ $TURN != 2 ] || printf '\n## Iteration 2 - 2026-01-07T14:30:00Z\n### Completed: the second\n### Next: the third\n' >> progress.txt"
    When the loop is run
    Then it ends with the outcome "plan_complete" and exit status 0
    And progress.txt has one block for each of 3 iterations
    And the host wrote the blocks 1, 3

  # The requirements.

  Scenario: REQ-RW-100: PROMPT.md is made in structured form
    Given there is no "PROMPT.md"
    And there is no "fix_plan.md"
    When a loop in the session is prepared for "Port the parser to Rust"
    Then "PROMPT.md" says "# Task: Port the parser to Rust"
    And "PROMPT.md" has the sections "Objective", "Current State", "Instructions", "Constraints", "Completion Signal", "Fatal Error Signal"
    And "PROMPT.md" says "<promise>COMPLETE</promise>"
    And "PROMPT.md" has no placeholders
    And "fix_plan.md" says "- [ ] Port the parser to Rust"
    And "progress.txt" says "# Progress: Port the parser to Rust"
    And there is a folder "specs"

  Scenario: REQ-RW-100: what exists is not overwritten
    When a loop in the session is prepared for "Port the parser to Rust"
    Then "PROMPT.md" says "Do the next item."
    And "fix_plan.md" says "- [ ] three"

  Scenario: REQ-RW-101: the promise counts in the agent's own last message only
    Given an agent that does "work; echo \"$PROMPT\" >&2; [ $TURN -lt 3 ] || promise"
    When the loop is run
    Then it ends with the outcome "complete" and exit status 0
    And the agent was run 3 times

  Scenario: REQ-RW-102: the Stop hook prevents the stop until the promise is given
    Given a loop in the session is prepared
    When the session stops, saying "Did the first item."
    Then the stop is prevented, with the prompt
    When the session stops, saying "Did the second item."
    Then the stop is prevented, with the prompt
    When the session stops, saying "All done. <promise>COMPLETE</promise>"
    Then the stop is allowed
    And the state says that 3 iterations are over
    And the outcome is "complete"

  Scenario: REQ-RW-103: 50 iterations are the limit unless another is asked for
    Given a loop in the session is prepared
    Then the state has max_iterations 50
    Given an agent that does "work"
    When the loop is run with "--fresh --max-iterations 2"
    Then it ends with the outcome "max_iterations" and exit status 1
    And the agent was run 2 times

  Scenario: REQ-RW-103: a turn that runs for too long is ended
    Given an agent that does "sleep 60"
    When the loop is run with "--timeout 0.002 --max-iterations 2"
    Then it ends with the outcome "max_iterations" and exit status 1
    And the user is told "it ran for too long and was ended"

  Scenario: REQ-RW-104: iteration and progress are in the state after each iteration
    Given an agent that does "tick; work; grep '\"iteration\"' .claude/ralph-state.json; [ $TURN != 2 ] || promise"
    When the loop is run with "--completion-promise COMPLETE"
    Then the state has iteration 2
    And the state has remaining_items 1
    And the state has total_items 3

  Scenario: REQ-RW-105: the prompt asks for one item per iteration
    Given there is no "PROMPT.md"
    When a loop in the session is prepared for "Port it"
    Then "PROMPT.md" says "Do the first unchecked item, and ONLY that one."
    And "PROMPT.md" says "ONE item per iteration"

  Scenario: REQ-RW-106: the prompt asks for subagents in research
    Given there is no "PROMPT.md"
    When a loop in the session is prepared for "Port it"
    Then "PROMPT.md" says "Use subagents for research (500 at most)"
    And "PROMPT.md" says "only one agent for building and testing"

  Scenario: REQ-RW-107: the prompt allows the agent to learn in AGENT.md
    Given there is no "PROMPT.md"
    When a loop in the session is prepared for "Port it"
    Then "PROMPT.md" says "note it briefly in AGENT.md"

  Scenario: REQ-RW-108: the breaker stays open until it has cooled down, is on trial then, and closes with progress
    Given an agent that does "echo thinking"
    When the loop is run
    Then it ends with the outcome "no_file_changes" and exit status 6
    When the loop is run
    Then it is refused with exit status 6 and "circuit breaker OPEN since"
    When the breaker is reset
    Then the breaker is HALF
    Given an agent that does "work; promise"
    When the loop is run
    Then it ends with the outcome "complete" and exit status 0
    And the breaker is CLOSED

  Scenario: REQ-RW-108: a cooldown of 0 ends with the next start, and one more idle iteration opens the breaker again
    Given an agent that does "echo thinking"
    When the loop is run with "--cooldown 0"
    And the loop is run
    Then it ends with the outcome "no_file_changes" and exit status 6
    And the agent was run 4 times

  Scenario: REQ-RW-108: commits of the agent's own are progress
    Given an agent that does "work; git add -A; git commit -qm item; [ $TURN -lt 6 ] || promise"
    When the loop is run
    Then it ends with the outcome "complete" and exit status 0

  Scenario: REQ-RW-108: progress.txt alone is no progress, committed or not
    Given an agent that does "echo note >> progress.txt; git add progress.txt; git commit -qm notes"
    When the loop is run
    Then it ends with the outcome "no_file_changes" and exit status 6
    And the agent was run 3 times

  Scenario: REQ-RW-109: each iteration has its block in progress.txt
    Given an agent that does "work"
    When the loop is run with "--max-iterations 3"
    Then progress.txt has one block for each of 3 iterations
    And the host wrote the blocks 1, 2, 3

  Scenario: REQ-RW-110: nothing to commit makes no commit
    Given an agent that does "echo thinking"
    When the loop is run
    Then the commits are "init"

  Scenario: REQ-RW-110: work that a commit hook refuses is not lost
    Given a commit hook that does "echo tests fail >&2; exit 1"
    And an agent that does "work untracked.txt; [ $TURN != 2 ] || promise"
    When the loop is run
    Then it ends with the outcome "complete" and exit status 0
    And the user is told "checkpoint 1 was not committed (tests fail)"
    And the commits are "init"
    And "untracked.txt" of checkpoint 1 says "turn 1"

  Scenario: REQ-RW-110: a checkpoint is restored, and what was there before is kept
    Given an agent that does "work; work only-$TURN.txt; [ $TURN != 3 ] || promise"
    When the loop is run
    And a file "notes.txt" is written
    And checkpoint 1 is restored
    Then "work.txt" says "turn 1" and nothing else
    And there is a file "only-1.txt"
    And there is no file "only-3.txt"
    And there is a file "notes.txt"
    And the commits are "ralph: checkpoint iteration 3", "ralph: checkpoint iteration 2", "ralph: checkpoint iteration 1", "init"

  Scenario: REQ-RW-111: the promise is an option
    Given a loop in the session is prepared with "--completion-promise 'ALL GREEN'"
    When the session stops, saying "<promise>COMPLETE</promise>"
    Then the stop is prevented, with the prompt
    When the session stops, saying "<promise>ALL GREEN</promise>"
    Then the stop is allowed
    And the outcome is "complete"

  Scenario: REQ-RW-112: no jq and no bash is needed for the hook
    Given a loop in the session is prepared
    When the session stops where there is nothing on PATH but git
    Then the stop is prevented, with the prompt

  Scenario: Stopped by hand: the loop ends before its next turn
    Given an agent that does "work; [ $TURN != 2 ] || wiggum stop >&2"
    When the loop is run
    Then it ends with the outcome "cancelled" and exit status 130
    And the agent was run 2 times

  Scenario: Stopped by hand, at once: the turn ends, too, and its work is kept
    Given an agent that does "work; wiggum stop --now >&2; sleep 60"
    When the loop is run
    Then it ends with the outcome "cancelled" and exit status 130
    And the agent was run 1 times
    And the commits are "ralph: checkpoint iteration 1 (interrupted)", "init"

  Scenario: The state of another task is not taken for one's own
    Given an agent that does "work; kill -9 $LOOP"
    When the loop is run for "Port the parser" and killed
    And the loop is run for "Write the manual"
    Then it is refused with exit status 2 and "that of another task, in iteration 0: Port the parser"
