@once
Feature: What a driver may leave out
  Five hooks are required. Two have a default that the loop defines before the script is sourced, six tell of
  capabilities, and two are for people and tools that look at an installation. Whatever is left out has a
  meaning, and a driver that defines it decides for itself.

  Background:
    Given the minimal driver
    And a prompt file ".ralph/PROMPT.md" that says "Do the next task."

  Rule: The two hooks with a default are there in any case

    @default
    Scenario: Without driver_supports_tool_allowlist there is no support
      Given the minimal driver without driver_supports_tool_allowlist
      When the driver is loaded
      Then it does not support tool allowlists
      And driver_supports_tool_allowlist is there, but not the script's own

    @default
    Scenario Outline: With it the driver decides: status <status>
      Given the minimal driver with
        """
        driver_supports_tool_allowlist() { return <status>; }
        """
      When the driver is loaded
      Then it <does> tool allowlists
      And driver_supports_tool_allowlist is the script's own

      Examples:
        | status | does             |
        | 0      | supports         |
        | 1      | does not support |
        | 3      | does not support |

    @default
    Scenario: Without driver_permission_denial_help there is general advice
      Given the minimal driver without driver_permission_denial_help
      And RALPHRC_FILE is "config/.ralphrc"
      When the driver is loaded
      Then its help on refused permissions names "My Platform" and "config/.ralphrc"
      And driver_permission_denial_help is there, but not the script's own

    @default
    Scenario: With it the driver's advice is given
      Given the minimal driver with
        """
        driver_permission_denial_help() { echo "Ask $DRIVER_DISPLAY_NAME, then edit $RALPHRC_FILE."; }
        """
      And RALPHRC_FILE is "rc"
      When the driver is loaded
      Then its help on refused permissions is "Ask My Platform, then edit rc."

  Rule: A capability that is not mentioned is assumed

    @capability
    Scenario Outline: Without <hook> the driver supports <what>
      Given the minimal driver without <hook>
      When the driver is loaded
      Then it supports <what>
      And <hook> is absent

      Examples:
        | hook                        | what        |
        | driver_supports_sessions    | sessions    |
        | driver_supports_live_output | live output |

    @capability
    Scenario Outline: With <hook> the driver decides: status <status>
      Given the minimal driver with
        """
        <hook>() { return <status>; }
        """
      When the driver is loaded
      Then it <does> <what>
      And <hook> is the script's own

      Examples:
        | hook                        | what        | status | does             |
        | driver_supports_sessions    | sessions    | 0      | supports         |
        | driver_supports_sessions    | sessions    | 1      | does not support |
        | driver_supports_live_output | live output | 0      | supports         |
        | driver_supports_live_output | live output | 1      | does not support |

  Rule: Live output has a fallback for each of its parts

    @capability @live
    Scenario: Without driver_prepare_live_command the live command is a copy
      When the command is built with the context "two words  and more"
      And the live command is prepared
      Then the live command is the built command
      And LIVE_CMD_ARGS is a copy of CLAUDE_CMD_ARGS

    @capability @live
    Scenario: With it the driver decides
      Given the minimal driver with
        """
        driver_prepare_live_command() { LIVE_CMD_ARGS=("${CLAUDE_CMD_ARGS[@]}" --stream "a b"); }
        """
      When the command is built
      And the live command is prepared
      Then the live command is
        """
        my-platform --prompt .ralph/PROMPT.md --output-format json --stream 'a b'
        """

    @capability @live
    Scenario: Without driver_stream_filter nothing is shown
      When these lines are shown live
        """
        {"type":"text","text":"hello"}
        """
      Then nothing is shown
      And the filter is "empty"

    @capability @live
    Scenario: With it the driver's filter is used
      Given the minimal driver with
        """
        driver_stream_filter() { echo 'select(.type == "text") | .text + "\n"'; }
        """
      When these lines are shown live
        """
        {"type":"thought","text":"hm"}
        {"type":"text","text":"hello"}
        """
      Then this is shown
        """
        hello
        """

    @capability @live
    Scenario: A filter that is no jq program is named as such
      Given the minimal driver with
        """
        driver_stream_filter() { echo 'select(.type == '; }
        """
      When these lines are shown live
        """
        {"type":"text","text":"hello"}
        """
      Then it is refused as a wrong configuration
      And the message says "this jq filter does not compile"

  Rule: The hooks for session ids are steps that can be left out

    @capability @session
    Scenario Outline: Without <hook> its step gives nothing
      When the driver is loaded
      Then <hook> is absent
      And the <step> step gives nothing

      Examples:
        | hook                                  | step     |
        | driver_extract_session_id_from_output | driver   |
        | driver_fallback_session_id            | fallback |

  Rule: Metadata can be left out; then nothing is claimed

    @metadata
    Scenario Outline: Without <hook> the host does not know <what>
      Given the minimal driver without <hook>
      When the driver is loaded
      Then <hook> is absent
      And it is unknown <what>

      Examples:
        | hook                   | what                            |
        | driver_min_version     | which version is needed         |
        | driver_check_available | whether the program is installed |

    @metadata
    Scenario: With them the driver says it
      Given a stand-in "my-platform" that runs
        """
        exit 0
        """
      When the driver is loaded
      Then version 1.0.0 or newer is needed
      And the program is installed

    @metadata
    Scenario: A program that is not installed is told from one whose driver can't say
      Given the CLI is not installed
      When the driver is loaded
      Then the program is not installed
