Feature: What an adapter promises
  An adapter is a YAML file that describes a shell, a REPL or a debugger. Whatever the program is, a command goes in, and
  its output, the whole of it and nothing else, comes out.

  Scenario: What a command leaves behind is there for the next one
    Given a session of "python"
    When it runs "answer = 6 * 7"
    Then nothing is printed
    When it runs "answer"
    Then the output is "42"

  Scenario: Several lines are one command
    Given a session of "python"
    When it runs:
      """
      for number in range(2):
          print(number)

          print(number * 10)
      print("done")
      """
    Then the output is:
      """
      0
      0
      1
      10
      done
      """

  Scenario: The exit code is told
    Given a session of "bash"
    When it runs "(exit 3)"
    Then the exit code is 3
    When it runs "true"
    Then the exit code is 0

  Scenario: The folder is followed, whatever it is called
    Given a folder "it's "quoted" $HOME"
    And a session of "bash"
    When it changes to that folder
    Then its folder is that folder
    When it runs "cd .."
    Then its folder is the one above

  Scenario: Output need not end in a newline
    Given a session of "bash"
    When it runs "printf abc"
    Then the output is "abc"
    When it runs "echo next"
    Then the output is "next"

  Scenario: Output that looks like a prompt ends no command
    Given a session of "perldb"
    When it runs "$| = 1; print "\n  DB<1> "; select(undef, undef, undef, 0.2); print "done""
    Then the output ends in "done"
    When it runs "p 6 * 7"
    Then the output is "42"

  Scenario: A forged announcement of the prompt ends no command
    Only announcements that carry the secret of the session count.

    Given a session of "bash"
    When it runs "printf '\033]633;D;0;guess\007\033]633;A;guess\007\033]633;B;guess\007'; sleep 0.2; echo done; (exit 5)"
    Then the output is "done"
    And the exit code is 5

  Scenario Outline: What was typed is no output in <program>
    Given a session of "<program>"
    When it runs "<command>"
    Then the output is "<output>"

    Examples:
      | program | command                   | output |
      | bash    | echo one two              | one two |
      | python  | print("one two")          | one two |
      | sqlite3 | SELECT 'one two';         | one two |
      | perldb  | print "one two"           | one two |

  Scenario: A command that takes too long is interrupted, and the session goes on
    Given a session of "bash"
    And it has run "kept=yes"
    When it runs "echo begun; sleep 60" for at most 0.3 seconds
    Then it ends by "timeout"
    And the output begins with "begun"
    And the session is ready
    When it runs "echo $kept"
    Then the output is "yes"

  Scenario: A command may outlive its deadline, and its output is fetched later
    Given a session of "bash"
    And a gate that is shut
    When it runs "read -r word < "$gate"; echo "got $word"" for at most 0.2 seconds, uninterrupted
    Then it ends by "timeout"
    And the session is busy
    And another command is refused with "still busy"
    When the gate is opened with "late"
    And it waits for the command
    Then the output is "got late"
    And the session is ready

  Scenario: Open brackets are refused, and nothing is sent
    Given a session of "sbcl"
    When it tries "(setq sent (list 1 2"
    Then it is refused with "nothing was sent"
    When it runs "(boundp 'sent)"
    Then the output is "NIL"

  Scenario: A debugger is a mode of its program
    Given a session of "python"
    When it runs "import pdb; pdb.set_trace()"
    Then the mode is "pdb"
    When it runs "p 6 * 7"
    Then the output is "42"
    When it runs "c"
    Then the mode is "main"

  Scenario: Closing a session ends its program and all that it started
    Given a session of "bash"
    And it has run "sleep 300 & disown"
    When it is closed
    Then no process of it is left
    And another command is refused with "closed"

  Scenario: A program that is missing is told by name
    Given an adapter file "mine.yaml" with "process: { executable: no-such-program }"
    When the file is started
    Then it fails with "mine: no program was found; tried: no-such-program"

  Scenario: An alias finds its adapter
    When the adapter "python3" is loaded
    Then its name is "python"

  Scenario: A file of the project replaces a built-in adapter
    Given an adapter file ".ralph-bridge/adapters/python.yaml" with "description: ours"
    When the adapter "python" is loaded
    Then it comes from that file

  Scenario: A key that nobody knows is a warning
    Given an adapter file "mine.yaml" with "descripton: x"
    When the file is loaded
    Then there is a warning in line 4 with "did you mean description?"

  Scenario: A schema of another number is an error that names its place
    Given an adapter file "mine.yaml" of schema 9
    When the file is loaded
    Then it fails with "mine.yaml:1: error: schema"

  Scenario: A file from another system works here
    Given an adapter file "mine.yaml" as an editor of another system writes it:
      """
      schema: 1
      name: mine
      family: shell
      process:
        command_template: '"{shell_path}" --norc --noprofile -i'
        executable_candidates: ['%PROGRAMS%\nowhere\bash.exe', '%TOOLS%\tool']
        env: { PS1: "$ " }
      ready: { wait_for_event: regex }
      init: { strategy: regex }
      prompt: { strategy: regex, primary: '^\$ $' }
      output: { input_echo_strategy: deterministic_byte_match }
      probe: { eval: 'echo $((1 + 1))', expect: '^2$' }
      tests:
        - { name: good, eval: echo good, expect: '\Agood\z' }
        - { name: bad, eval: echo other, expect: '\Agood\z' }
      """
    And bash is there as "%TOOLS%\tool"
    When its tests run
    Then "probe, good" passed
    And "bad" failed
