@required @command @shipped
Feature: Building the command
  driver_build_command gets three arguments, always: the prompt file, the context of this iteration (may be
  empty) and the session to resume (may be empty). It fills CLAUDE_CMD_ARGS with the whole command, one element
  per argument, and returns 0. When there is nothing to run it returns another status.

  Background:
    Given a prompt file ".ralph/PROMPT.md" that says "Do the next task."
    And CLAUDE_OUTPUT_FORMAT is "json"
    And CLAUDE_USE_CONTINUE is "true"

  Rule: Without a prompt there is no command

    Scenario Outline: The prompt file is <what>
      When the command is built for the prompt file "<path>"
      Then driver_build_command fails with status 1
      And it says why on stderr

      Examples:
        | what             | path            |
        | not there        | .ralph/OTHER.md |
        | a folder         | .ralph          |
        | not given at all |                 |

    Scenario: After a failure no command is left over from the call before
      When the command is built
      And the command is built for the prompt file ".ralph/OTHER.md"
      Then driver_build_command fails with status 1
      And no command is returned

    @once
    Scenario: A stale command is no answer, even of a driver that does not clear the array
      Given the minimal driver with
        """
        driver_build_command() { if [[ -f "$1" ]]; then CLAUDE_CMD_ARGS=(my-platform "$1"); fi; }
        """
      When the command is built
      And the command is built for the prompt file ".ralph/OTHER.md"
      Then the command is empty

  Rule: The command is what bash itself has in the array

    Scenario Outline: The host reads back what bash would print, with <context> and <session>
      When the command is built with the context "<context>" and the session "<session>"
      Then the command is what bash itself yields

      Examples:
        | context           | session  |
        |                   |          |
        | Loop 3 of 10.     |          |
        |                   | sid-1234 |
        | Loop 3 of 10.     | sid-1234 |

    Scenario: It starts with the program
      When the command is built
      Then its program is what driver_cli_binary prints

    Scenario: The program gets the prompt
      When the command is built
      Then the prompt reaches the program

    Scenario: The same arguments give the same command
      When the command is built with the context "Loop 1." and the session "sid-1"
      And the same command is built again
      Then both commands are the same

    Scenario: What was built before does not show
      When the command is built with the context "Loop 1." and the session "sid-1"
      And the command is built
      Then nothing of "Loop 1." is in the command
      And nothing of "sid-1" is in the command

    Scenario: A fourth argument, which some loops pass, does no harm
      When the command is built with a fourth argument "continue"
      Then the command is what bash itself yields

  Rule: The context goes to the program when there is one

    Scenario: A context reaches the program
      When the command is built with the context "Loop 3: 2 tasks are open."
      Then "Loop 3: 2 tasks are open." reaches the program
      And the prompt reaches the program

    Scenario: An empty context leaves no trace
      When the command is built with the context ""
      Then no argument of the command is empty
      And the prompt reaches the program

  Rule: Settings that are not set have defaults

    Scenario: No setting at all
      Given CLAUDE_OUTPUT_FORMAT is not set
      And CLAUDE_USE_CONTINUE is not set
      When the command is built
      Then the prompt reaches the program

  Rule: The output format is for the driver to honour

    @claude-code
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

    @codex @opencode @copilot @cursor
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

  Rule: The permission mode is Claude Code's

    @claude-code
    Scenario Outline: The mode <mode>
      Given CLAUDE_PERMISSION_MODE is "<mode>"
      When the command is built
      Then the command has "--permission-mode" followed by "<used>"

      Examples:
        | mode              | used              |
        |                   | bypassPermissions |
        | acceptEdits       | acceptEdits       |
        | plan              | plan              |

    @codex @opencode @copilot @cursor
    Scenario: The others take no notice of it
      When the command is built
      And CLAUDE_PERMISSION_MODE becomes "plan"
      And the same command is built again
      Then both commands are the same

  Rule: An allowlist has an effect where the driver says that it supports one

    @claude-code
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

    @with_allowlist
    Scenario: No list, no option
      When the command is built
      And CLAUDE_ALLOWED_TOOLS becomes ""
      And the same command is built again
      Then both commands are the same

    @without_allowlist
    Scenario: A driver without allowlists takes no notice of one
      When the command is built
      And CLAUDE_ALLOWED_TOOLS becomes "Read,Bash(git *)"
      And the same command is built again
      Then both commands are the same

  Rule: The command of each shipped driver, in full

    @claude-code
    Scenario: Claude Code has an option for the context
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        claude --output-format json --permission-mode bypassPermissions --resume sid-1
               --append-system-prompt 'Loop 3.' -p 'Do the next task.'
        """

    @codex
    Scenario: Codex resumes with a sub-command, which stands after its options
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        codex exec --json --sandbox workspace-write resume sid-1 'Loop 3.

        Do the next task.'
        """

    @opencode
    Scenario: OpenCode
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        opencode run --agent build --format json --continue --session sid-1 'Loop 3.

        Do the next task.'
        """

    @copilot
    Scenario: Copilot has no sessions
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        copilot --autopilot --yolo --max-autopilot-continues 50 --no-ask-user -s -p 'Loop 3.

        Do the next task.'
        """

    @cursor
    Scenario: Cursor
      When the command is built with the context "Loop 3." and the session "sid-1"
      Then the command is
        """
        cursor-agent -p --force --output-format json --resume sid-1 'Loop 3.

        Do the next task.'
        """

    @cursor
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
