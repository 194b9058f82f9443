Feature: The numbered clauses of the contract of drivers
  These are the checks of `ralph-bridge verify`, run once, one scenario each: so a report of scenarios and a report
  of checks can't say different things. `ralph-bridge explain RB101` says why a clause matters, with a bad and a good
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
      | code  | clause                                     |
      | RB020 | Hooks leave no undeclared globals behind   |
      | RB025 | Hooks read globals that somebody sets      |

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

  Scenario Outline: What is left as it was: <clause>
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

  Scenario Outline: Hooks that answer a question: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                                |
      | RB070 | driver_name is one lower-case identifier              |
      | RB071 | driver_display_name is one line                       |
      | RB072 | driver_cli_binary is one name or path                 |
      | RB073 | The file is named after driver_name                   |
      | RB074 | driver_min_version is a version                       |
      | RB075 | driver_check_available tells whether the CLI is there |
      | RB076 | Booleans are answered by status 0 or 1                |
      | RB077 | Booleans print nothing                                |
      | RB078 | driver_valid_tools fills VALID_TOOL_PATTERNS          |
      | RB079 | driver_permission_denial_help prints help             |

  Scenario Outline: Answers, and what they leave behind: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                  |
      | RB080 | Hooks that print an answer succeed      |
      | RB081 | Hooks set no undeclared globals         |
      | RB082 | Hooks leave the host's variables alone  |
      | RB083 | Building a command does not run the CLI |

  Scenario Outline: The prompt, the context and the session in the command: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                 |
      | RB100 | It builds a command                    |
      | RB101 | A missing prompt is a failure          |
      | RB102 | A missing prompt is reported           |
      | RB103 | A failure leaves no command            |
      | RB104 | The command begins with the CLI        |
      | RB105 | The prompt is in the command once      |
      | RB106 | The prompt arrives as it is            |
      | RB107 | The context arrives in one argument    |
      | RB108 | Nothing that is passed is evaluated    |
      | RB109 | The session id arrives as one argument |

  Scenario Outline: Settings: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                        |
      | RB110 | No session unless CLAUDE_USE_CONTINUE is true |
      | RB111 | No session option with an empty id            |
      | RB112 | Nothing stale from an earlier command         |
      | RB113 | CLAUDE_OUTPUT_FORMAT is honoured              |
      | RB114 | CLAUDE_PERMISSION_MODE is honoured            |
      | RB115 | The allowlist arrives, each tool intact       |
      | RB116 | An empty allowlist leaves no option           |
      | RB117 | The same inputs give the same command         |
      | RB118 | Building prints nothing on stdout             |
      | RB119 | A fourth argument is tolerated                |

  Scenario Outline: The rest of the command: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                           |
      | RB120 | It works in an unusual host                      |
      | RB122 | No session from a driver without sessions        |
      | RB123 | An empty value leaves no option                  |
      | RB124 | Building leaves the loop's stdin alone           |
      | RB125 | Options have their place and their value         |
      | RB126 | The command ends as the CLI does                 |
      | RB127 | A folder with blanks in its name is one argument |

  Scenario Outline: Live output: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                            |
      | RB130 | The live command is filled in                     |
      | RB131 | The live command is a copy: CLAUDE_CMD_ARGS stays |
      | RB132 | The live command keeps what the command has       |
      | RB133 | Nothing stale from an earlier live command        |
      | RB134 | The stream filter is a jq program                 |
      | RB135 | The filter shows what the assistant says          |
      | RB136 | The filter shows nothing else                     |
      | RB137 | The filter survives events that it doesn't know   |
      | RB138 | The filter works line by line                     |
      | RB139 | The live command prints events                    |

  Scenario Outline: Hosts of other kinds: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                      |
      | RB140 | A prompt that goes to stdin arrives         |
      | RB141 | It works on Windows, where it knows Windows |

  Scenario Outline: The session id: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                            |
      | RB150 | The session id is found in the output             |
      | RB151 | Nothing is found where nothing is                 |
      | RB152 | The fallback gives the only session               |
      | RB153 | The fallback refuses ambiguity                    |
      | RB154 | The fallback gives nothing when the CLI fails     |
      | RB155 | The recovery finds the session                    |
      | RB156 | A known driver has the capabilities of the matrix |
