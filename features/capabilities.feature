@matrix @capability
Feature: What each driver can do
  The loop asks a driver for its capabilities instead of knowing the programs. This is the matrix of the
  shipped drivers; the contract's data says the same.

  Rule: The matrix holds

    Scenario: Each driver answers as its row says
      When the script is verified
      Then a known driver has the capabilities of the matrix (RB156)

  Rule: What a driver claims is what its hooks do

    @with_sessions
    Scenario: Support for sessions means that an id reaches the command
      When the script is verified
      Then the session id arrives as one argument (RB109)

    @without_sessions
    Scenario: No support for sessions means that none does
      When the script is verified
      Then no session from a driver without sessions (RB122)

    @with_allowlist
    Scenario: Support for allowlists means that every tool reaches the command
      When the script is verified
      Then the allowlist arrives, each tool intact (RB115)

    @with_live_output @with_filter
    Scenario: The driver's own filter for the events of live output
      When the script is verified
      Then the stream filter is a jq program (RB134)

    Scenario: Asking for a capability prints nothing and changes nothing
      When the script is verified
      Then booleans are answered by status 0 or 1 (RB076)
      And booleans print nothing (RB077)

  Rule: What people read

    @default
    Scenario: The help on refused permissions
      When the script is verified
      Then driver_permission_denial_help prints help (RB079)

    @metadata
    Scenario: The oldest version that will do has three numbers
      When the script is verified
      Then driver_min_version is a version (RB074)

    @metadata
    Scenario: Whether the program is installed
      When the script is verified
      Then driver_check_available tells whether the CLI is there (RB075)

  Rule: The drivers that ship with ralph-bridge, word for word

    Background:
      Given a prompt file ".ralph/PROMPT.md" that says "Do the next task."
      And CLAUDE_OUTPUT_FORMAT is "json"
      And CLAUDE_USE_CONTINUE is "true"

    @own_tests
    Scenario: The matrix, row by row
      When the driver is loaded
      Then its capabilities are those of its row
        | driver      | allowlist | sessions | live output | live command | filter      | own session hooks    | binary  |
        | claude-code | yes       | yes      | yes         | transform    | complex     | none                 | static  |
        | codex       | no        | yes      | yes         | passthrough  | select      | none                 | static  |
        | opencode    | no        | yes      | yes         | passthrough  | select      | extract and fallback | static  |
        | copilot     | no        | no       | no          | absent       | passthrough | none                 | static  |
        | cursor      | no        | yes      | yes         | transform    | complex     | none                 | dynamic |
        | gemini      | no        | yes      | yes         | passthrough  | complex     | none                 | static  |
        | qwen        | no        | yes      | yes         | transform    | complex     | none                 | static  |
        | kimi        | no        | yes      | yes         | passthrough  | complex     | none                 | static  |
        | antigravity | no        | yes      | yes         | passthrough  | complex     | none                 | static  |
        | kiro        | no        | no       | no          | absent       | passthrough | none                 | static  |
        | pi          | no        | yes      | yes         | passthrough  | complex     | extract              | static  |
        | droid       | no        | yes      | yes         | passthrough  | complex     | none                 | static  |
        | kilo        | no        | yes      | yes         | passthrough  | select      | extract              | static  |
      And the contract's data has the same row

    @own_tests @without_allowlist
    Scenario: No support for allowlists means that no tool does
      Given CLAUDE_ALLOWED_TOOLS is "OnlyThisTool"
      When the command is built
      Then nothing of "OnlyThisTool" is in the command

    @own_tests @default
    Scenario: The help on refused permissions names the settings file
      Given RALPHRC_FILE is "config/.ralphrc"
      When the driver is loaded
      Then its help on refused permissions names the driver's display name and "config/.ralphrc"

    @own_tests @cursor
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
