@matrix @capability @shipped
Feature: What each driver can do
  The loop asks a driver for its capabilities instead of knowing the programs. This is the matrix of the
  shipped drivers; the contract's data says the same.

  Background:
    Given a prompt file ".ralph/PROMPT.md" that says "Do the next task."
    And CLAUDE_OUTPUT_FORMAT is "json"
    And CLAUDE_USE_CONTINUE is "true"

  Rule: The matrix holds

    @shipped
    Scenario: Each driver answers as its row says
      When the driver is loaded
      Then its capabilities are those of its row
        | driver      | allowlist | sessions | live output | live command | filter      | own session hooks    | binary  |
        | claude-code | yes       | yes      | yes         | transform    | complex     | none                 | static  |
        | codex       | no        | yes      | yes         | passthrough  | select      | none                 | static  |
        | opencode    | no        | yes      | yes         | passthrough  | select      | extract and fallback | static  |
        | copilot     | no        | no       | no          | absent       | passthrough | none                 | static  |
        | cursor      | no        | yes      | yes         | transform    | complex     | none                 | dynamic |
      And the contract's data has the same row

  Rule: What a driver claims is what its hooks do

    @with_sessions
    Scenario: Support for sessions means that an id reaches the command
      When the command is built with the session "sid-1234"
      Then "sid-1234" reaches the program

    @without_sessions
    Scenario: No support for sessions means that none does
      When the command is built with the session "sid-1234"
      Then nothing of "sid-1234" is in the command

    @with_allowlist
    Scenario: Support for allowlists means that every tool reaches the command
      Given CLAUDE_ALLOWED_TOOLS is "Read,Bash(git *)"
      When the command is built
      Then "Read" reaches the program
      And "Bash(git *)" reaches the program

    @without_allowlist
    Scenario: No support for allowlists means that no tool does
      Given CLAUDE_ALLOWED_TOOLS is "OnlyThisTool"
      When the command is built
      Then nothing of "OnlyThisTool" is in the command

    @with_live_output @with_filter
    Scenario: The driver's own filter for the events of live output
      When driver_stream_filter is called
      Then it succeeds
      And what it printed compiles as a jq program

    Scenario Outline: Asking for <capability> prints nothing and changes nothing
      When <hook> is called, if it is there
      Then it printed nothing and changed nothing

      Examples:
        | capability     | hook                           |
        | tool allowlist | driver_supports_tool_allowlist |
        | sessions       | driver_supports_sessions       |
        | live output    | driver_supports_live_output    |

  Rule: What people read

    @default
    Scenario: The help on refused permissions names the settings file
      Given RALPHRC_FILE is "config/.ralphrc"
      When the driver is loaded
      Then its help on refused permissions names the driver's display name and "config/.ralphrc"

    @metadata
    Scenario: The oldest version that will do has three numbers
      When driver_min_version is called
      Then it succeeds
      And it prints one line that is a version

    @metadata
    Scenario: The program is found when it is installed
      Given a stand-in for the CLI that prints nothing
      When the driver is loaded
      Then the program is installed

    @metadata
    Scenario: The program is not found when it is not installed
      Given the CLI is not installed
      When the driver is loaded
      Then the program is not installed

    @cursor
    Scenario Outline: Cursor's program is resolved to a path: <name>
      Given a stand-in "<name>" that runs
        """
        exit 0
        """
      When the driver is loaded
      Then CLAUDE_CODE_CMD is the path "bin/<name>"

      Examples:
        | name         |
        | cursor-agent |
        | agent        |
