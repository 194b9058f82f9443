@provider
Feature: The numbered clauses of the contract of provider adapters
  These are the checks of `ralph-bridge verify`, run once, one scenario each: so a report of scenarios and a report
  of checks can't say different things. `ralph-bridge explain RB197` says why a clause matters, with a bad and a good
  example.

  Scenario Outline: The file and the names in it: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                         |
      | RB001 | The script can be read and is valid bash       |
      | RB002 | The script is written for bash                 |
      | RB003 | The file has a name that loops find            |
      | RB004 | bash 3.2 is enough                             |
      | RB005 | The required hooks are defined                 |
      | RB006 | Functions with the contract's prefix are hooks |
      | RB007 | Each function is defined once                  |
      | RB008 | A script is a driver or an agent, not both     |
      | RB009 | No function takes a name of the loop           |

  Scenario Outline: Sourcing, as it is written: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                              |
      | RB010 | Sourcing leaves the shell as it was |
      | RB012 | Sourcing runs no commands           |

  Scenario Outline: Globals: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                   |
      | RB020 | Hooks leave no undeclared globals behind |
      | RB025 | Hooks read globals that somebody sets    |

  Scenario Outline: What no hook may do, and what it must look at: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                               |
      | RB030 | No hook ends the shell that calls it |
      | RB031 | Hooks leave the shell as it was      |
      | RB032 | Hooks use their arguments            |
      | RB033 | jq programs compile                  |
      | RB034 | Arrays are expanded whole            |

  Scenario Outline: The file and its adapter: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                               |
      | RB046 | The file has the name of its adapter |

  Scenario Outline: Sourcing, as it goes: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                                    |
      | RB050 | Sourcing it returns                                       |
      | RB051 | Sourcing it succeeds                                      |
      | RB052 | Sourcing it prints nothing                                |
      | RB053 | Sourcing it keeps the shell's options                     |
      | RB054 | Sourcing it keeps the working folder                      |
      | RB055 | Sourcing it leaves traps alone                            |
      | RB056 | Sourcing it leaves IFS alone                              |
      | RB057 | Sourcing it leaves arguments, umask and descriptors alone |
      | RB058 | It survives the options of the loop                       |
      | RB059 | Required functions are there after sourcing               |

  Scenario Outline: What is left as it was, and what it can do: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                           |
      | RB060 | Sourcing it keeps the host's settings            |
      | RB061 | Hooks leave options, folder, IFS and traps alone |
      | RB062 | Hooks return                                     |
      | RB063 | Sourcing it makes no files                       |
      | RB064 | Hooks leave files as they are                    |
      | RB065 | Hooks leave no process behind                    |
      | RB066 | Capabilities are answered as they are declared   |

  Scenario Outline: The command: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                               |
      | RB084 | What it reads of the settings arrives                |
      | RB191 | The command has the prompt as it is                  |
      | RB192 | Without a prompt there is no command                 |
      | RB193 | The context reaches the agent                        |
      | RB194 | A session goes on when that is wanted, and only then |

  Scenario Outline: The answer: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                 |
      | RB195 | The format is json or text             |
      | RB196 | The record is whole                    |
      | RB197 | The record has what the assistant says |
      | RB198 | The status block decides               |
      | RB199 | The session's id is found              |
