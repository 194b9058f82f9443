@special_characters
Feature: Every argument arrives as it was given
  Prompts, contexts, paths and ids hold what people and programs write. Nothing of it may be split, expanded,
  evaluated or taken for an option, from the host through bash into the command and back, byte for byte.

  Rule: Any text arrives

    Scenario: Prompt, context and session arrive as they are, and nothing of them is evaluated
      When the script is verified
      Then the prompt arrives as it is (RB106)
      And the context arrives in one argument (RB107)
      And nothing that is passed is evaluated (RB108)

    @with_sessions
    Scenario: The session id
      When the script is verified
      Then the session id arrives as one argument (RB109)

  Rule: Byte for byte as bash itself has it

    Background:
      Given a prompt file ".ralph/PROMPT.md" that says "Do the next task."
      And CLAUDE_OUTPUT_FORMAT is "json"
      And CLAUDE_USE_CONTINUE is "true"
      And these texts, where \xNN is one byte
        | name                  | text                                     |
        | spaces                | two  words                               |
        | blanks at both ends   | \x20in the middle\x20                    |
        | single quotes         | it's 'quoted'                            |
        | double quotes         | "quoted" and 6" more                     |
        | newlines              | line one\nline two\n\nline four          |
        | tabs and returns      | a\x09b\x0d                               |
        | command substitution  | $(touch pwned) ${HOME} $HOME $((1 + 1))  |
        | backticks             | `touch pwned`                            |
        | globs                 | * ? [a-z] {a,b} ~ .ralph/*               |
        | backslashes           | \\ back \\\\ slash \\n                   |
        | operators             | a; b & c \| d > pwned < e # f ! g        |
        | an option             | -n                                       |
        | a long option         | --output-format                          |
        | two dashes            | --                                       |
        | text that is not UTF-8 | caf\xe9 \xff\xfe                        |
        | text beyond ASCII     | Größe ⚡ 日本語                           |
        | control characters    | \x01 \x07 \x1b[31m \x7f                  |
        | an equals sign        | A=1                                      |
        | true                  | true                                     |

    @own_tests
    Scenario: The context
      When the command is built with each text as the context
      Then each command is what bash itself yields
      And each text reaches the program
      And nothing was evaluated

    @own_tests
    Scenario: The session
      When the command is built with each text as the session
      Then each command is what bash itself yields
      And nothing was evaluated

    @own_tests @with_sessions
    Scenario: The session reaches the program
      When the command is built with each text as the session
      Then each text is one argument of the command

    @own_tests
    Scenario: The path of the prompt file
      When the command is built with each text as the name of the prompt file
      Then each command is what bash itself yields
      And the prompt reaches the program each time
      And nothing was evaluated

    @own_tests
    Scenario: The text of the prompt
      When the command is built with each text as the prompt
      Then each command is what bash itself yields
      And the prompt reaches the program each time
      And nothing was evaluated

    @own_tests
    Scenario: A fourth argument
      When the command is built with each text as the fourth argument
      Then each command is what bash itself yields
      And nothing was evaluated

    @own_tests
    Scenario Outline: The setting <setting>
      When the command is built with each text as <setting>
      Then each command is what bash itself yields
      And nothing was evaluated

      Examples:
        | setting                |
        | CLAUDE_OUTPUT_FORMAT   |
        | CLAUDE_PERMISSION_MODE |
        | CLAUDE_ALLOWED_TOOLS   |
        | CLAUDE_USE_CONTINUE    |

    @own_tests @live
    Scenario Outline: The live command of a command with odd texts as the <argument>
      When the live command is prepared with each text as the <argument>
      Then each live command is what bash itself yields
      And nothing was evaluated

      Examples:
        | argument |
        | context  |
        | session  |
        | prompt   |

    @own_tests @session
    Scenario: The name of the output that is searched for a session id
      Given a stand-in for the CLI that prints nothing
      When the session id is looked for in an output with each text as its name
      Then the session id "s-1" is found each time
      And nothing was evaluated

    @own_tests
    Scenario: The settings file that the help names
      When the help on refused permissions is asked for with each text as RALPHRC_FILE
      Then each text is in the help
      And nothing was evaluated

    @once
    Scenario: The folder of the script itself
      Given the minimal driver in the folder "it's $(touch pwned) a *\xff folder"
      When the driver is loaded
      Then driver_name prints "my-platform"
      And nothing was evaluated

    @once
    Scenario: A NUL byte, which no argument can hold, is refused
      Given the minimal driver
      When the command is built with the context "one\x00two"
      Then it is refused as a wrong configuration
      And the message says "NUL"
