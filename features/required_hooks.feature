@required
Feature: The hooks that every driver has
  Five hooks are called without asking whether they exist. Three print one line, one fills an array with tool
  names, and driver_build_command, which has a feature of its own, fills the array with the command.

  Rule: Names are one line on stdout and nothing on stderr

    Scenario Outline: <hook> prints one line
      When the script is verified
      Then <hook> is <shape> (<clause>)

      Examples:
        | hook                | shape                     | clause |
        | driver_name         | one lower-case identifier | RB070  |
        | driver_display_name | one line                  | RB071  |
        | driver_cli_binary   | one name or path          | RB072  |

  Rule: driver_valid_tools fills VALID_TOOL_PATTERNS

    Scenario: There are tools, each one once, none of them empty, and a second call gives the same ones
      When the script is verified
      Then driver_valid_tools fills VALID_TOOL_PATTERNS (RB078)

  Rule: A hook changes the globals that the contract names for it, and no others

    Scenario: No global of others is written, and no undeclared one is left behind
      When the script is verified
      Then hooks leave no undeclared globals behind (RB020)
      And hooks set no undeclared globals (RB081)
      And hooks leave the host's variables alone (RB082)

  Rule: The drivers that ship with ralph-bridge, word for word

    Background:
      Given a prompt file ".ralph/PROMPT.md" that says "Do the next task."

    @own_tests
    Scenario Outline: <hook> says the same every time
      When <hook> is called
      And <hook> is called again
      Then both calls answered the same

      Examples:
        | hook                |
        | driver_name         |
        | driver_display_name |
        | driver_cli_binary   |

    @own_tests
    Scenario Outline: <hook> changes <globals>
      Given CLAUDE_ALLOWED_TOOLS is "Read,Bash(git *)"
      And CLAUDE_USE_CONTINUE is "true"
      When <hook> is called with <arguments>
      Then it changed no global except <globals>

      Examples:
        | hook                 | arguments                            | globals             |
        | driver_name          | nothing                              | none                |
        | driver_display_name  | nothing                              | none                |
        | driver_cli_binary    | nothing                              | none                |
        | driver_valid_tools   | nothing                              | VALID_TOOL_PATTERNS |
        | driver_build_command | ".ralph/PROMPT.md" "context" "sid-1" | CLAUDE_CMD_ARGS     |

  Rule: A required hook that fails is an error with its evidence

    @once
    Scenario Outline: <hook> fails while the driver is loaded
      Given the minimal driver with
        """
        <hook>() { echo "no license" >&2; return 7; }
        """
      When the driver is loaded
      Then it is refused because <hook> failed with status 7
      And the message says "no license"

      Examples:
        | hook                |
        | driver_valid_tools  |
        | driver_cli_binary   |
        | driver_display_name |
