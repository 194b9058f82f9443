@required @command
Feature: Building the command
  driver_build_command gets three arguments, always: the prompt file, the context of this iteration (may be
  empty) and the session to resume (may be empty). It fills CLAUDE_CMD_ARGS with the whole command, one element
  per argument, and returns 0. When there is nothing to run it returns another status.

  Rule: Without a prompt there is no command

    Scenario: A prompt file that is not there
      When the script is verified
      Then a missing prompt is a failure (RB101)
      And a missing prompt is reported (RB102)

    Scenario: After a failure no command is left over from the call before
      When the script is verified
      Then a failure leaves no command (RB103)

  Rule: The command is the program with its arguments

    Scenario: It starts with the program
      When the script is verified
      Then the command begins with the CLI (RB104)

    Scenario: The program gets the prompt
      When the script is verified
      Then the prompt is in the command once (RB105)
      And the prompt arrives as it is (RB106)

    Scenario: The same arguments give the same command
      When the script is verified
      Then the same inputs give the same command (RB117)

    Scenario: What was built before does not show
      When the script is verified
      Then nothing stale from an earlier command (RB112)

    Scenario: A fourth argument, which some loops pass, does no harm
      When the script is verified
      Then a fourth argument is tolerated (RB119)

    Scenario: Building has no other effects
      When the script is verified
      Then building prints nothing on stdout (RB118)
      And building a command does not run the CLI (RB083)
      And building leaves the loop's stdin alone (RB124)

  Rule: The context goes to the program when there is one

    Scenario: A context reaches the program
      When the script is verified
      Then the context arrives in one argument (RB107)

    Scenario: An empty context leaves no trace
      When the script is verified
      Then an empty value leaves no option (RB123)

  Rule: Settings are honoured; those that are not set have defaults

    Scenario: No setting at all
      When the script is verified
      Then it works in an unusual host (RB120)

    Scenario: Output format and permission mode
      When the script is verified
      Then CLAUDE_OUTPUT_FORMAT is honoured (RB113)
      And CLAUDE_PERMISSION_MODE is honoured (RB114)

    @with_allowlist
    Scenario: An allowlist has an effect where the driver says that it supports one
      When the script is verified
      Then the allowlist arrives, each tool intact (RB115)

    @with_allowlist
    Scenario: No list, no option
      When the script is verified
      Then an empty allowlist leaves no option (RB116)

  Rule: The drivers that ship with ralph-bridge, word for word, and as bash itself has it

    Background:
      Given a prompt file ".ralph/PROMPT.md" that says "Do the next task."
      And CLAUDE_OUTPUT_FORMAT is "json"
      And CLAUDE_USE_CONTINUE is "true"

    @own_tests
    Scenario Outline: The prompt file is <what>
      When the command is built for the prompt file "<path>"
      Then driver_build_command fails with status 1
      And it says why on stderr

      Examples:
        | what             | path            |
        | not there        | .ralph/OTHER.md |
        | a folder         | .ralph          |
        | not given at all |                 |

    @own_tests
    Scenario Outline: The host reads back what bash would print, with <context> and <session>
      When the command is built with the context "<context>" and the session "<session>"
      Then the command is what bash itself yields

      Examples:
        | context           | session  |
        |                   |          |
        | Loop 3 of 10.     |          |
        |                   | sid-1234 |
        | Loop 3 of 10.     | sid-1234 |

    @own_tests @claude-code
    Scenario Outline: Claude Code is asked for <format>
      Given CLAUDE_OUTPUT_FORMAT is "<format>"
      When the command is built
      Then the command is
        """
        claude <options> -p 'Do the next task.'
        """

      Examples:
        | format | options                                                       |
        | json   | --output-format json --permission-mode bypassPermissions      |
        | text   | --permission-mode bypassPermissions                           |

    @own_tests @codex @opencode @copilot @cursor @gemini @qwen @kimi @antigravity @kiro @pi @droid @kilo
    Scenario Outline: Programs that print one format only are not asked for <format>
      Given CLAUDE_OUTPUT_FORMAT is "json"
      When the command is built
      And CLAUDE_OUTPUT_FORMAT becomes "<format>"
      And the same command is built again
      Then both commands are the same

      Examples:
        | format |
        | text   |
        |        |

    @own_tests @claude-code
    Scenario Outline: The mode <mode>
      Given CLAUDE_PERMISSION_MODE is "<mode>"
      When the command is built
      Then the command has "--permission-mode" followed by "<used>"

      Examples:
        | mode              | used              |
        |                   | bypassPermissions |
        | acceptEdits       | acceptEdits       |
        | plan              | plan              |

    @own_tests @codex @opencode @copilot @cursor @gemini @qwen @kimi @antigravity @kiro @pi @droid @kilo
    Scenario: The others take no notice of it
      When the command is built
      And CLAUDE_PERMISSION_MODE becomes "plan"
      And the same command is built again
      Then both commands are the same

    @own_tests @claude-code
    Scenario Outline: A list of <what>
      Given CLAUDE_ALLOWED_TOOLS is "<list>"
      When the command is built
      Then the tools after "--allowedTools" are: <tools>

      Examples:
        | what                              | list                              | tools                                   |
        | one tool                          | Read                              | 'Read'                                  |
        | several tools                     | Read,Write,Edit                   | 'Read' 'Write' 'Edit'                   |
        | tools with blanks around them     | Read , Write                      | 'Read' 'Write'                          |
        | patterns, which are no file names | Bash(git *),mcp__*                | 'Bash(git *)' 'mcp__*'                  |
        | rules with a comma inside         | Bash(git add, git commit),Read    | 'Bash(git add, git commit)' 'Read'      |
        | nothing between two commas        | Read,,Write,                      | 'Read' 'Write'                          |
        | a bracket that is never closed    | Bash(git,Read                     | 'Bash(git' 'Read'                       |

    @own_tests @without_allowlist
    Scenario: A driver without allowlists takes no notice of one
      When the command is built
      And CLAUDE_ALLOWED_TOOLS becomes "Read,Bash(git *)"
      And the same command is built again
      Then both commands are the same

    @own_tests @claude-code
    Scenario: Claude Code has an option for the context
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        claude --output-format json --permission-mode bypassPermissions --resume sid-1
               --append-system-prompt 'Loop 3.' -p 'Do the next task.'
        """

    @own_tests @codex
    Scenario: Codex resumes with a sub-command, which stands after its options
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        codex exec --json --sandbox workspace-write resume sid-1 'Loop 3.

        Do the next task.'
        """

    @own_tests @opencode
    Scenario: OpenCode
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        opencode run --agent build --format json --continue --session sid-1 'Loop 3.

        Do the next task.'
        """

    @own_tests @copilot
    Scenario: Copilot has no sessions
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        copilot --autopilot --yolo --max-autopilot-continues 50 --no-ask-user -s -p 'Loop 3.

        Do the next task.'
        """

    @own_tests @gemini
    Scenario: Gemini CLI
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        gemini --output-format stream-json --approval-mode yolo --skip-trust --resume sid-1 --prompt 'Loop 3.

        Do the next task.'
        """

    @own_tests @qwen
    Scenario: Qwen Code
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        qwen --output-format json --approval-mode yolo --resume sid-1 --prompt 'Loop 3.

        Do the next task.'
        """

    @own_tests @kimi
    Scenario: Kimi Code
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        kimi --output-format stream-json --session sid-1 --prompt 'Loop 3.

        Do the next task.'
        """

    @own_tests @antigravity
    Scenario: Antigravity CLI
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        agy --output-format stream-json --dangerously-skip-permissions --print-timeout 24h --conversation sid-1
            --print 'Loop 3.

        Do the next task.'
        """

    @own_tests @kiro
    Scenario: Kiro CLI has no sessions
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        kiro-cli chat --no-interactive --trust-all-tools --wrap never 'Loop 3.

        Do the next task.'
        """

    @own_tests @pi
    Scenario: pi
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        pi --mode json -p --session sid-1 'Loop 3.

        Do the next task.'
        """

    @own_tests @droid
    Scenario: Droid
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        droid exec --output-format stream-json --auto high --session-id sid-1 'Loop 3.

        Do the next task.'
        """

    @own_tests @kilo
    Scenario: Kilo
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        kilo run --auto --format json --session sid-1 'Loop 3.

        Do the next task.'
        """

    @own_tests @cursor
    Scenario: Cursor
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        cursor-agent -p --force --output-format json --resume sid-1 'Loop 3.

        Do the next task.'
        """

    @own_tests @cursor
    Scenario: On Windows, Cursor's .cmd file goes through a wrapper, and the prompt stays in its file
      Given OS is "Windows_NT"
      And a stand-in "cursor-agent.cmd" that runs
        """
        exit 0
        """
      When the command is built with the session "sid-1"
      Then its program is the file "cursor-agent-wrapper.sh" beside the script
      And its second word is the stand-in "cursor-agent.cmd"
      And ".ralph/PROMPT.md" reaches the program
      And nothing of "Do the next task." is in the command

  Rule: A command of an earlier call is no answer

    Background:
      Given a prompt file ".ralph/PROMPT.md" that says "Do the next task."

    @once
    Scenario: A stale command is no answer, even of a driver that does not clear the array
      Given the minimal driver with
        """
        driver_build_command() { if [[ -f "$1" ]]; then CLAUDE_CMD_ARGS=(my-platform "$1"); fi; }
        """
      When the command is built
      And the command is built for the prompt file ".ralph/OTHER.md"
      Then the command is empty
