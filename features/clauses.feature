Feature: The numbered clauses of the contract
  Every clause that can be checked by itself has a number. `ralph-bridge explain RB101` says why it matters, with a
  bad and a good example; `ralph-bridge verify` checks them all. The scenarios here run the very same checks, so
  that a report of scenarios and a report of checks can't say different things.

  Scenario Outline: <what>
    When the checks <codes> are run
    Then they find no error

    Examples:
      | what                                                              | codes         |
      | It is valid, defines what it must, and leaks nothing              | RB00 to RB04  |
      | Sourcing it changes nothing but functions                         | RB05 to RB06  |
      | Hooks that answer a question answer it in the right form          | RB07 to RB08  |
      | The command carries prompt, context, session and settings, exactly | RB10 to RB12  |
      | The live command and the stream filter show the assistant's text  | RB13          |
      | The session id is found where it is, and nowhere else             | RB15          |
