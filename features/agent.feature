@agent
Feature: What a loop needs of an agent
  An agent script sets AGENT_CLI and defines three functions: agent_invoke runs the program,
  agent_extract_response takes the agent's own words from what it printed, agent_format_display shows it to
  people meanwhile. Two more are optional. The loop runs with `set -euo pipefail`, so an unset variable is an error.

  Rule: Sourcing it prints nothing, and there is what the loop will call

    Scenario: It can be loaded
      When the script is verified
      Then sourcing it succeeds (RB051)
      And sourcing it prints nothing (RB052)
      And AGENT_CLI is one word (RB170)
      And required functions are there after sourcing (RB059)

    @once
    Scenario: Variables that nobody knows do no harm
      Given the minimal agent with
        """
        AGENT_INSTALL="npm install -g my-agent"
        AGENT_ENV_KEYS="MY_KEY"
        MY_AGENT_COLOURS=(red green)
        """
      When the agent is loaded
      Then it succeeds in silence

    @once
    Scenario Outline: A script without <name> is no agent
      Given the minimal agent without <name>
      When the checks RB00 to RB04 are run
      Then they find an error that names <name>

      Examples:
        | name                   |
        | agent_invoke           |
        | agent_extract_response |
        | agent_format_display   |

  Rule: agent_invoke gives the program the prompt, and keeps out of the way

    @own_tests
    Scenario Outline: A prompt that <what> arrives on stdin as it is
      Given a CLI that writes down what it gets
      When agent_invoke gets a prompt of "<prompt>"
      Then the CLI has read exactly this prompt
      And nothing was evaluated

      Examples:
        | what                       | prompt                                        |
        | is plain                   | Do the next task.\x0a                         |
        | begins with a dash         | - [ ] a task\x0a                              |
        | is front matter            | ---\x0aa: b\x0a---\x0a                        |
        | is empty                   |                                               |
        | looks like shell code      | $(touch pwned) `touch pwned` $HOME "'\ * %s   |
        | has no newline at its end  | one\x0atwo                                    |
        | holds bytes of any kind    | caf\xe9 \xff\x01\x0d\x0a                      |

    @own_tests
    Scenario: A prompt of 300 KiB arrives
      Given a CLI that writes down what it gets
      When agent_invoke gets a prompt of 300 KiB
      Then the CLI has read exactly this prompt

    Scenario: The prompt arrives on stdin as it is
      When the script is verified
      Then the prompt reaches the CLI (RB171)
      And the CLI runs in the folder of the loop (RB187)
      And options are arguments of their own (RB188)

    Scenario: The CLI's status is passed on, its stdout and stderr as they are
      When the script is verified
      Then the CLI's status is passed on (RB172)
      And the CLI's stderr reaches people (RB173)
      And the CLI's output is untouched (RB174)
      And the CLI's output comes as it is printed (RB175)

    @own_tests
    Scenario: Without a prompt file it fails and says so
      Given a CLI that writes down what it gets
      When agent_invoke gets a prompt file that is not there
      Then it fails and names the file

  Rule: agent_extract_response gives what the agent itself said, and nothing else

    @recorded
    Scenario: From what the CLI prints today, every text in order
      When the script is verified
      Then the response is what the assistant says (RB176)
      And the response is nothing else (RB177)

    @recorded
    Scenario: Damaged lines cost only themselves
      When the script is verified
      Then bad lines in the output are skipped (RB178)
      And a last line without a newline counts (RB179)

    @own_tests @recorded @slow
    Scenario Outline: The promise is found when it comes <place>
      Given an output of 60 events in which the agent says "<promise>COMPLETE</promise>" <place>
      When the response is extracted
      Then the response holds "<promise>COMPLETE</promise>"

      Examples:
        | place |
        | first |
        | last  |

    @recorded
    Scenario: The promise in the prompt, in a thought or in a tool's output is not the agent's
      When the script is verified
      Then the response is nothing else (RB177)

    Scenario: Nothing printed, no response
      When the script is verified
      Then no output, no response (RB180)

    @own_tests
    Scenario Outline: Nothing said, no response: <what>
      Given an output that is "<output>"
      When the response is extracted
      Then the response is empty

      Examples:
        | what              | output             |
        | an empty file     |                    |
        | only a newline    | \x0a               |
        | no JSON           | npm warn: x\x0a    |
        | JSON of no object | null\x0a42\x0a[]\x0a |

  Rule: agent_format_display shows it while it happens

    @recorded
    Scenario: Each text is shown before the next event arrives
      When the script is verified
      Then the display shows what the assistant says (RB181)
      And the display is line-buffered (RB182)
      And the display ends with status 0 (RB186)

    @recorded
    Scenario: Damaged lines don't end it
      When the script is verified
      Then the display goes on after a bad line (RB183)

  Rule: The hooks around an iteration are optional; what they keep is kept

    Scenario: They do not fail, and hand on what they note
      When the script is verified
      Then optional hooks do not fail (RB184)
      And optional hooks keep their globals (RB185)
      And context figures are whole numbers (RB189)

    @own_tests
    Scenario: They do well without an output, and in a loop that goes on
      Given a CLI that writes down what it gets
      When the hooks around an iteration are called twice in a loop without RALPH_DIR
      Then the agent succeeds

    @once
    Scenario: Without them nothing happens
      Given the minimal agent
      When the hooks around an iteration are called, as far as there are any
      Then it succeeds in silence

    @once
    Scenario: Globals persist from one hook to the next, and over iterations
      Given the minimal agent with
        """
        agent_pre_iteration() { _MY_COUNT=$(( ${_MY_COUNT:-0} + 1 )); }
        agent_post_iteration() { log "iteration $_MY_COUNT"; _ITER_CONTEXT_PCT=50; }
        """
      When the hooks around an iteration are called twice in a loop
      Then the session's log is
        """
        iteration 1
        iteration 2
        """
