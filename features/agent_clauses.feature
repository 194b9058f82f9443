@agent
Feature: The numbered clauses of the contract of agents
  These are the checks of `ralph-bridge verify`, run once, one scenario each: so a report of scenarios and a report
  of checks can't say different things. `ralph-bridge explain RB171` says why a clause matters, with a bad and a good
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

  Scenario Outline: Functions of agents, as they are written: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                       |
      | RB041 | agent_extract_response works line by line    |
      | RB042 | agent_format_display works line by line      |
      | RB045 | What hooks hand on is not lost in a pipeline |

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

  Scenario Outline: Running the program, and the response: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                   |
      | RB125 | Options have their place and their value |
      | RB170 | AGENT_CLI is one word                    |
      | RB171 | The prompt reaches the CLI               |
      | RB172 | The CLI's status is passed on            |
      | RB173 | The CLI's stderr reaches people          |
      | RB174 | The CLI's output is untouched            |
      | RB175 | The CLI's output comes as it is printed  |
      | RB176 | The response is what the assistant says  |
      | RB177 | The response is nothing else             |
      | RB178 | Bad lines in the output are skipped      |
      | RB179 | A last line without a newline counts     |

  Scenario Outline: The display, and optional hooks: <clause>
    When the script is verified
    Then <code> finds no error

    Examples:
      | code  | clause                                    |
      | RB180 | No output, no response                    |
      | RB181 | The display shows what the assistant says |
      | RB182 | The display is line-buffered              |
      | RB183 | The display goes on after a bad line      |
      | RB184 | Optional hooks do not fail                |
      | RB185 | Optional hooks keep their globals         |
      | RB186 | The display ends with status 0            |
      | RB187 | The CLI runs in the folder of the loop    |
      | RB188 | Options are arguments of their own        |
      | RB189 | Context figures are whole numbers         |
      | RB190 | The CLI prints what the agent reads       |
