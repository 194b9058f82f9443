@session
Feature: Resuming a session, and finding its id again
  A loop that resumes the session of the iteration before saves the agent from reading everything again. The
  driver puts the session's id into the command; afterwards the id is looked for in what the program printed.

  Rule: A session is resumed while CLAUDE_USE_CONTINUE is exactly "true"

    @with_sessions
    Scenario: The id reaches the program
      When the script is verified
      Then the session id arrives as one argument (RB109)

    Scenario: With any other value every iteration is a new session
      When the script is verified
      Then no session unless CLAUDE_USE_CONTINUE is true (RB110)

    Scenario: Without an id there is nothing to resume
      When the script is verified
      Then no session option with an empty id (RB111)

    @without_sessions
    Scenario: A driver without sessions takes no notice of an id
      When the script is verified
      Then no session from a driver without sessions (RB122)

  Rule: The id is found again in what the program prints

    @with_sessions
    Scenario: The recorded events of each program tell their session
      When the script is verified
      Then the recovery finds the session (RB155)

    Scenario: What the hooks for session ids print
      When the script is verified
      Then the session id is found in the output (RB150)
      And nothing is found where nothing is (RB151)

    Scenario: The program itself is asked last
      When the script is verified
      Then the fallback gives the only session (RB152)
      And the fallback refuses ambiguity (RB153)
      And the fallback gives nothing when the CLI fails (RB154)

  Rule: Each program has its own way to say it

    Background:
      Given a prompt file ".ralph/PROMPT.md" that says "Do the next task."
      And CLAUDE_OUTPUT_FORMAT is "json"
      And CLAUDE_USE_CONTINUE is "true"

    @own_tests
    Scenario Outline: With CLAUDE_USE_CONTINUE <value> every iteration is a new session
      Given CLAUDE_USE_CONTINUE is <value>
      When the command is built with the session "sid-1234"
      Then nothing of "sid-1234" is in the command

      Examples:
        | value   |
        | "false" |
        | "TRUE"  |
        | "yes"   |
        | "1"     |
        | ""      |

    @own_tests @claude-code @codex @opencode @cursor
    Scenario: What a session adds to the command
      Given CLAUDE_USE_CONTINUE is "true"
      When the command is built with the session "sid-1234"
      Then the session adds this to the command
        | driver      | added                         | before the word     |
        | claude-code | --resume sid-1234             | -p                  |
        | codex       | resume sid-1234               | 'Do the next task.' |
        | opencode    | --continue --session sid-1234 | 'Do the next task.' |
        | cursor      | --resume sid-1234             | 'Do the next task.' |

  Rule: The id is looked for in three steps; the first that gives a usable one wins

    @own_tests
    Scenario Outline: An output that holds <what>
      Given a stand-in for the CLI that prints nothing
      And the CLI printed
        """
        <output>
        """
      When the session id is looked for
      Then the session id is "<id>", found by the <step> step

      Examples:
        | what                  | output                                             | id  | step    |
        | sessionId             | {"sessionId":"s-1"}                                | s-1 | generic |
        | metadata              | {"metadata":{"session_id":"s-2"}}                  | s-2 | generic |
        | session_id            | {"session_id":"s-3"}                               | s-3 | generic |
        | sessionId and others  | {"session_id":"s-3","metadata":{"session_id":"s-2"},"sessionId":"s-1"} | s-1 | generic |
        | metadata and another  | {"session_id":"s-3","metadata":{"session_id":"s-2"}} | s-2 | generic |
        | a list of events      | [{"type":"system","subtype":"init","session_id":"s-4"},{"type":"result","session_id":"s-4","result":"Done."}] | s-4 | generic |

    @own_tests
    Scenario Outline: An output that holds <what> gives no id, and the next iteration starts a new session
      Given a stand-in for the CLI that prints nothing
      And the CLI printed
        """
        <output>
        """
      When the session id is looked for
      Then there is no session id

      Examples:
        | what            | output                       |
        | nothing         |                              |
        | plain text      | All tasks are done.          |
        | an empty id     | {"session_id":""}            |
        | null            | {"session_id":null}          |

    @own_tests
    Scenario Outline: What can't be an id is passed over: <what>
      Given a stand-in for the CLI that prints nothing
      And the CLI printed
        """
        <output>
        """
      When the session id is looked for
      Then there is no session id
      And "<rejected>" was passed over

      Examples:
        | what         | output                          | rejected      |
        | two words    | {"session_id":"two words"}      | two words     |
        | an option    | {"session_id":"--yolo"}         | --yolo        |
        | a command    | {"session_id":"$(id)"}          | $(id)         |
        | a path       | {"session_id":"../../etc"}      | ../../etc     |

    @own_tests
    Scenario: A missing output file is an error, not a new session
      Given a stand-in for the CLI that prints nothing
      When the session id is looked for in "nowhere.log"
      Then it is refused as not found
      And the message says "nowhere.log"

    @own_tests @codex
    Scenario: Codex calls it thread_id
      Given the CLI printed
        """
        {"type":"thread.started","thread_id":"01a1f000-0000-7000-8000-000000000001"}
        {"type":"turn.started"}
        """
      When the session id is looked for
      Then the session id is "01a1f000-0000-7000-8000-000000000001", found by the generic step

    @own_tests @opencode
    Scenario Outline: OpenCode's driver finds it in the events by itself, <when>
      Given the CLI printed
        """
        <event>
        """
      When the session id is looked for
      Then the session id is "ses_1", found by the driver step

      Examples:
        | when            | event                                                             |
        | as they are now | {"type":"text","sessionID":"ses_1","part":{"text":"Done."}}       |
        | as they were    | {"type":"session.created","session":{"title":"a","id":"ses_1"}}   |

    @own_tests @opencode
    Scenario: At last OpenCode itself is asked, and its only session is taken
      Given a stand-in for the CLI that runs
        """
        [ "$*" = "session list --format json" ] || exit 64
        echo '[{"id":"ses_only","title":"Loop"}]'
        """
      And the CLI printed
        """
        All tasks are done.
        """
      When the session id is looked for
      Then the session id is "ses_only", found by the fallback step

    @own_tests @opencode
    Scenario Outline: OpenCode's list of sessions is no answer when <what>
      Given a stand-in for the CLI that runs
        """
        <program>
        """
      And the CLI printed
        """
        All tasks are done.
        """
      When the session id is looked for
      Then there is no session id

      Examples:
        | what                     | program                                    |
        | there are two            | echo '[{"id":"ses_1"},{"id":"ses_2"}]'     |
        | there is none            | echo '[]'                                  |
        | it fails                 | echo '[{"id":"ses_1"}]'; exit 1            |
        | it prints something else | echo 'Please log in.'                      |

    @own_tests @opencode
    Scenario: Two sessions in one output are no answer, so the later steps are asked
      Given a stand-in for the CLI that runs
        """
        echo '[{"id":"ses_only"}]'
        """
      And the CLI printed
        """
        {"type":"session.created","session":{"id":"ses_1"}}
        {"type":"session.created","session":{"id":"ses_2"}}
        """
      When the session id is looked for
      Then the driver step gave nothing

  Rule: A driver takes part in the search with two optional hooks

    @once @capability
    Scenario: Its own extraction comes first
      Given the minimal driver with
        """
        driver_extract_session_id_from_output() { sed -n 's/^session: //p' "$1"; }
        """
      And the CLI printed
        """
        session: own-1
        {"session_id":"generic-1"}
        """
      When the session id is looked for
      Then the session id is "own-1", found by the driver step

    @once @capability
    Scenario Outline: The generic step comes next when the driver's extraction <does>
      Given the minimal driver with
        """
        driver_extract_session_id_from_output() { <body>; }
        driver_fallback_session_id() { echo fallback-1; }
        """
      And the CLI printed
        """
        {"session_id":"generic-1"}
        """
      When the session id is looked for
      Then the session id is "generic-1", found by the generic step

      Examples:
        | does                         | body                      |
        | prints nothing               | :                         |
        | prints blank lines           | echo; echo                |
        | prints null, as jq does      | echo null                 |
        | fails silently               | return 1                  |
        | prints what can't be an id   | echo "no session found"   |

    @once @capability
    Scenario: What the hook printed counts, also when it fails afterwards
      Given the minimal driver with
        """
        driver_extract_session_id_from_output() { echo own-1; return 1; }
        """
      And the CLI printed
        """
        {"session_id":"generic-1"}
        """
      When the session id is looked for
      Then the session id is "own-1", found by the driver step

    @once @capability
    Scenario: The fallback comes last, and gets the path of the output
      Given the minimal driver with
        """
        driver_fallback_session_id() { [[ -f "$1" ]] && echo fallback-1; }
        """
      And the CLI printed
        """
        All tasks are done.
        """
      When the session id is looked for
      Then the session id is "fallback-1", found by the fallback step
