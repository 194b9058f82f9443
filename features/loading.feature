@loading
Feature: Loading a driver
  A driver is a bash script that defines functions called hooks. The host sources it once, in a bash of its
  own, and then asks three hooks for what it keeps in globals: the tools that an allowlist may name, the
  program, and the name that people read.

  Rule: A script that meets the contract loads quietly

    Scenario: Loading prints nothing and leaves the shell as it was
      When the script is verified
      Then sourcing it succeeds (RB051)
      And sourcing it prints nothing (RB052)
      And sourcing it keeps the shell's options (RB053)
      And sourcing it keeps the working folder (RB054)
      And sourcing it leaves traps alone (RB055)
      And sourcing it leaves IFS alone (RB056)
      And sourcing it leaves arguments, umask and descriptors alone (RB057)
      And sourcing it keeps the host's settings (RB060)
      And sourcing it makes no files (RB063)

    Scenario: The functions named driver_ are hooks of the contract, or helpers that it knows
      When the script is verified
      Then functions with the contract's prefix are hooks (RB006)

    @own_tests
    Scenario: Loading prints nothing and leaves nothing behind but functions
      When the driver is loaded
      Then loading it printed nothing
      And loading it set no global that the contract does not know

    @own_tests
    Scenario: What three hooks answer is kept where other hooks and the loop look for it
      When the driver is loaded
      Then CLAUDE_CODE_CMD is what driver_cli_binary prints
      And DRIVER_DISPLAY_NAME is what driver_display_name prints
      And VALID_TOOL_PATTERNS has at least one element

    @once
    Scenario: BASH_SOURCE shows where the script lies, so that it can find files beside it
      Given the minimal driver with
        """
        driver_cli_binary() { echo "${BASH_SOURCE[0]%/*}/bin/my-platform"; }
        """
      When the driver is loaded
      Then CLAUDE_CODE_CMD is the path "drivers/bin/my-platform"

    @once
    Scenario: What a script prints while it is sourced does no harm
      Given the minimal driver with
        """
        echo "loading..."
        echo "still loading..." >&2
        """
      When the driver is loaded
      Then driver_name prints "my-platform"

  Rule: A driver goes by the name of its file

    Scenario: Name and file agree
      When the script is verified
      Then the file is named after driver_name (RB073)

    @once
    Scenario Outline: A shipped driver is found by its name
      When the driver called "<name>" is loaded
      Then driver_display_name prints "<display name>"

      Examples:
        | name        | display name       |
        | claude-code | Claude Code        |
        | codex       | OpenAI Codex       |
        | opencode    | OpenCode           |
        | copilot     | GitHub Copilot CLI |
        | cursor      | Cursor CLI         |
        | gemini      | Gemini CLI         |
        | qwen        | Qwen Code          |
        | kimi        | Kimi Code          |
        | antigravity | Antigravity CLI    |
        | kiro        | Kiro CLI           |
        | pi          | pi                 |
        | droid       | Droid              |
        | kilo        | Kilo               |

    @once
    Scenario: A project's own driver is found before a shipped one of the same name
      Given a file "drivers/codex.sh" that holds the minimal driver
      When the driver called "codex" is loaded
      Then driver_display_name prints "My Platform"

    @once
    Scenario Outline: A name can't lead out of the folder of drivers
      When the driver called "<name>" is loaded
      Then it is refused as an unknown driver
      And the message says "<reason>"

      Examples:
        | name          | reason              |
        |               | must not be empty   |
        | ..            | contain '/' or '..' |
        | ../codex      | contain '/' or '..' |
        | drivers/codex | contain '/' or '..' |
        | codex..old    | contain '/' or '..' |

    @once
    Scenario: A slip of the pen is recognised
      When the driver called "codxe" is loaded
      Then it is refused as an unknown driver
      And the message says "Did you mean codex?"
      And the message says "Known: antigravity, claude-code, codex, copilot, cursor, droid, gemini, kilo, kimi, kiro, opencode, pi, qwen"

    @once
    Scenario: A helper that lies beside the drivers is not one
      When the driver called "cursor-agent-wrapper" is loaded
      Then it is refused as an unknown driver

  Rule: What is missing is reported, all of it at once

    @once @required
    Scenario Outline: Without <hook> a script is not a driver
      Given the minimal driver without <hook>
      When the driver is loaded
      Then it is refused as a violation of the contract
      And the message says "<hook>"

      Examples:
        | hook                 |
        | driver_name          |
        | driver_display_name  |
        | driver_cli_binary    |
        | driver_valid_tools   |
        | driver_build_command |

    @once @required
    Scenario: Several missing hooks make one message
      Given a file "drivers/my-platform.sh" that holds
        """
        driver_name() { echo my-platform; }
        driver_display_name() { echo "My Platform"; }
        driver_valid_tool() { VALID_TOOL_PATTERNS=(Read); }
        """
      When the driver is loaded
      Then it is refused as a violation of the contract
      And the message says "driver_cli_binary"
      And the message says "driver_build_command"
      And the message says "driver_valid_tools (there is driver_valid_tool"

  Rule: What can't be sourced is refused before anything of it runs

    @once
    Scenario Outline: <what> is refused
      Given a file "<file>" that holds "<content>"
      When the driver is loaded
      Then it is refused as no bash script
      And the message says "<reason>"

      Examples:
        | what                        | file             | content                       | reason              |
        | A script of another language | drivers/a.sh    | #!/usr/bin/env python3        | another interpreter |
        | A syntax error              | drivers/a.sh     | driver_name() { echo a; } }   | line 1              |
        | A binary file               | drivers/a.sh     | \x7fELF\x02\x00               | binary file         |

    @once
    Scenario: A folder is refused
      Given a folder "drivers/a.sh"
      When the driver is loaded
      Then it is refused as no bash script
      And the message says "is a directory"

    @once
    Scenario: A path that leads nowhere is refused
      Given the path "drivers/nowhere.sh"
      When the driver is loaded
      Then it is refused as not found
      And the message says "drivers/nowhere.sh"

    @once
    Scenario: A script that ends the shell while it is sourced is refused, with its last words
      Given the minimal driver with
        """
        echo "my-platform needs a license" >&2
        exit 3
        """
      When the driver is loaded
      Then it is refused because it exited with status 3
      And the message says "needs a license"
