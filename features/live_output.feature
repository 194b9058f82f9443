@live
Feature: Showing the work while it is done
  For live output the loop runs a variant of the command, LIVE_CMD_ARGS, which prints one JSON event per line,
  and shows what the driver's jq filter makes of each event.

  Rule: The live command is made from the command that was built last

    Scenario: Program, prompt, context and session are the same
      When the script is verified
      Then the live command is filled in (RB130)
      And the live command keeps what the command has (RB132)
      And the live command prints events (RB139)

    Scenario: The built command stays as it was
      When the script is verified
      Then the live command is a copy: CLAUDE_CMD_ARGS stays (RB131)

    Scenario: A second preparation gives the same
      When the script is verified
      Then nothing stale from an earlier live command (RB133)

  Rule: The filter shows what the agent says, and nothing of what it does not know

    @with_live_output @with_filter
    Scenario: The filter is a jq program
      When the script is verified
      Then the stream filter is a jq program (RB134)

    @with_live_output
    Scenario: The recorded events of each program, of older versions too, show what the agent said
      When the script is verified
      Then the filter shows what the assistant says (RB135)
      And the filter shows nothing else (RB136)

    @with_live_output
    Scenario: Unknown events
      When the script is verified
      Then the filter survives events that it doesn't know (RB137)
      And the filter works line by line (RB138)

  Rule: The live commands of our drivers, word for word, and as bash itself has them

    Background:
      Given a prompt file ".ralph/PROMPT.md" that says "Do the next task."
      And CLAUDE_OUTPUT_FORMAT is "json"
      And CLAUDE_USE_CONTINUE is "true"

    @own_tests
    Scenario: It is what bash itself has in the array
      When the command is built with the context "Loop 3." and the session "sid-1"
      And the live command is prepared
      Then the live command is what bash itself yields

    @own_tests @codex @opencode @copilot @gemini @kimi @antigravity @kiro @pi @droid @kilo
    Scenario: Where the program prints events anyway, or never, the command stays as it is
      When the command is built with the context "Loop 3." and the session "sid-1"
      And the live command is prepared
      Then the live command is the built command

    @own_tests @claude-code
    Scenario: Claude Code is asked for a stream of events with partial messages
      When the command is built with the session "sid-1"
      And the live command is prepared
      Then the live command is
        """
        claude --output-format stream-json --permission-mode bypassPermissions --resume sid-1
               -p 'Do the next task.' --verbose --include-partial-messages
        """

    @own_tests @qwen
    Scenario: Qwen Code is asked for a stream of events with partial messages
      When the command is built with the session "sid-1"
      And the live command is prepared
      Then the live command is
        """
        qwen --output-format stream-json --include-partial-messages --approval-mode yolo --resume sid-1
             --prompt 'Do the next task.'
        """

    @own_tests @cursor
    Scenario: Cursor is asked for a stream of events
      When the command is built with the session "sid-1"
      And the live command is prepared
      Then the live command is
        """
        cursor-agent -p --force --output-format stream-json --resume sid-1 'Do the next task.'
        """

    @own_tests @claude-code @cursor @qwen
    Scenario Outline: The word json is replaced where it is the format, and nowhere else
      Given a prompt file ".ralph/PROMPT.md" that says "json"
      When the command is built with the context "<context>" and the session "json"
      And the live command is prepared
      Then the live command has "--output-format" followed by "stream-json"
      And the live command has "--resume" followed by "json"
      And apart from the format every word of the built command is still there, in order

      Examples:
        | context         |
        |                 |
        | json            |
        | --output-format |

  Rule: What the filters of our drivers show

    @own_tests @with_live_output
    Scenario Outline: Nothing is shown of <what>
      When these lines are shown live
        """
        <line>
        """
      Then nothing is shown

      Examples:
        | what                      | line                                        |
        | an unknown event          | {"type":"something.new","text":"hello"}     |
        | a number                  | 42                                          |
        | a string                  | "text"                                      |
        | null                      | null                                        |
        | a list                    | [1,{"type":"text"}]                         |
        | an event without a type   | {"text":"hello"}                            |
        | an event with a null type | {"type":null}                               |
        | an empty line             |                                             |

    @own_tests @claude-code
    Scenario: What Claude Code shows
      When these lines are shown live
        """
        {"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Let me "}}}
        {"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"look."}}}
        {"type":"assistant","message":{"content":[{"type":"text","text":"Let me look."}]}}
        {"type":"stream_event","event":{"type":"content_block_stop"}}
        {"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"tool_use","name":"Read"}}}
        """
      Then this is shown
        """
        Let me look.

        ⚡ [Read]
        """

    @own_tests @codex
    Scenario: What Codex shows
      When these lines are shown live
        """
        {"type":"thread.started","thread_id":"01a1f000-0000-7000-8000-000000000001"}
        {"type":"item.completed","item":{"type":"reasoning","text":"I should look."}}
        {"type":"item.completed","item":{"type":"agent_message","text":"All done."}}
        """
      Then this is shown
        """
        All done.
        """

    @own_tests @opencode
    Scenario: What OpenCode shows
      When these lines are shown live
        """
        {"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}
        {"type":"text","sessionID":"ses_1","part":{"type":"text","text":"All done."}}
        """
      Then this is shown
        """
        All done.
        """

    @own_tests @gemini
    Scenario: What Gemini CLI shows
      When these lines are shown live
        """
        {"type":"init","session_id":"sid-1","model":"m"}
        {"type":"message","role":"user","content":"Do the next task."}
        {"type":"message","role":"assistant","content":"Let me ","delta":true}
        {"type":"message","role":"assistant","content":"look.","delta":true}
        {"type":"tool_use","tool_name":"read_file","tool_id":"1","parameters":{"file_path":"a"}}
        {"type":"tool_result","tool_id":"1","status":"success","output":"nothing to show"}
        {"type":"message","role":"assistant","content":"All done.","delta":true}
        """
      Then this is shown
        """
        Let me look.
        ⚡ [read_file]
        All done.
        """

    @own_tests @qwen
    Scenario: What Qwen Code shows
      When these lines are shown live
        """
        {"type":"stream_event","event":{"type":"goal_state","goal_state":{"v":2,"goal":null}}}
        {"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}}
        {"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Let me "}}}
        {"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"look."}}}
        {"type":"assistant","message":{"content":[{"type":"text","text":"Let me look."}]}}
        {"type":"stream_event","event":{"type":"content_block_stop"}}
        {"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"tool_use","name":"edit"}}}
        """
      Then this is shown
        """
        Let me look.

        ⚡ [edit]
        """

    @own_tests @kimi
    Scenario: What Kimi Code shows
      When these lines are shown live
        """
        {"role":"meta","type":"system.version","version":"2.1.0"}
        {"role":"assistant","content":"Let me look.","tool_calls":[{"type":"function","id":"1","function":{"name":"Read","arguments":"{}"}}]}
        {"role":"tool","tool_call_id":"1","content":"nothing to show"}
        {"role":"assistant","content":"","tool_calls":[{"type":"function","id":"2","function":{"name":"Edit","arguments":"{}"}}]}
        {"role":"assistant","content":"All done."}
        {"role":"meta","type":"session.resume_hint","session_id":"session_1","content":"To resume this session: kimi"}
        """
      Then this is shown
        """
        Let me look.
        ⚡ [Read]
        ⚡ [Edit]
        All done.
        """

    @own_tests @antigravity
    Scenario: What Antigravity CLI shows
      When these lines are shown live
        """
        {"event":"init","conversation_id":"c-1","init":{"cwd":"/"}}
        {"event":"step_update","step_update":{"step_index":0,"step_type":"user_input","state":"DONE","text_delta":"Do the next task."}}
        {"event":"step_update","step_update":{"step_index":1,"step_type":"agent_response","state":"ACTIVE","text_delta":"Let me "}}
        {"event":"step_update","step_update":{"step_index":1,"step_type":"agent_response","state":"ACTIVE","text_delta":"look."}}
        {"event":"step_update","step_update":{"step_index":2,"step_type":"tool","state":"ACTIVE","tool_name":"view_file","tool_info":{}}}
        {"event":"step_update","step_update":{"step_index":3,"step_type":"agent_response","state":"ACTIVE","text_delta":"All done."}}
        {"event":"result","result":{"status":"SUCCESS","response":"All done."}}
        """
      Then this is shown
        """
        Let me look.
        ⚡ [view_file]
        All done.
        """

    @own_tests @kiro
    Scenario: Kiro CLI's filter lets everything through, because there are no events
      When driver_stream_filter is called
      Then it prints one line that is "."

    @own_tests @pi
    Scenario: What pi shows
      When these lines are shown live
        """
        {"type":"session","version":3,"id":"1","cwd":"/"}
        {"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"Do the next task."}]}}
        {"type":"message_update","assistantMessageEvent":{"type":"thinking_delta","delta":"hm"}}
        {"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"Let me "}}
        {"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"look."}}
        {"type":"message_update","assistantMessageEvent":{"type":"text_end","content":"Let me look."}}
        {"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"Let me look."}]}}
        {"type":"tool_execution_start","toolCallId":"1","toolName":"read","args":{"path":"a"}}
        {"type":"tool_execution_end","toolCallId":"1","toolName":"read","result":{"content":[{"type":"text","text":"x"}]}}
        """
      Then this is shown
        """
        Let me look.
        ⚡ [read]
        """

    @own_tests @droid
    Scenario: What Droid shows
      When these lines are shown live
        """
        {"type":"message","role":"user","id":"1","text":"Do the next task."}
        {"type":"reasoning","id":"2","text":"hm"}
        {"type":"message","role":"assistant","id":"2","text":"Let me look."}
        {"type":"tool_call","id":"3","toolId":"Read","toolName":"Read","parameters":{"file_path":"a"}}
        {"type":"tool_result","id":"3","toolId":"Read","isError":false,"value":"nothing to show"}
        {"type":"message","role":"assistant","id":"4","text":"All done."}
        {"type":"completion","finalText":"All done."}
        """
      Then this is shown
        """
        Let me look.
        ⚡ [Read]
        All done.
        """

    @own_tests @kilo
    Scenario: What Kilo shows
      When these lines are shown live
        """
        {"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}
        {"type":"tool_use","sessionID":"ses_1","part":{"type":"tool","tool":"read","state":{"output":"nothing to show"}}}
        {"type":"text","sessionID":"ses_1","part":{"type":"text","text":"All done."}}
        """
      Then this is shown
        """
        All done.
        """

    @own_tests @cursor
    Scenario: What Cursor shows
      When these lines are shown live
        """
        {"type":"assistant","message":{"content":[{"type":"text","text":"Reading."}]}}
        {"type":"tool_call","subtype":"started","tool_call":{"readToolCall":{"args":{"path":"a"}}}}
        {"type":"tool_call","subtype":"completed","tool_call":{"readToolCall":{"result":{}}}}
        {"type":"result","result":"Reading."}
        """
      Then this is shown
        """
        Reading.

        ⚡ [read]
        """

    @own_tests @copilot
    Scenario: Copilot's filter lets everything through, because there are no events
      When driver_stream_filter is called
      Then it prints one line that is "."

    @own_tests @with_live_output
    Scenario Outline: <what> between two events
      Given the recorded events of the CLI
      When the recording is shown live with this line in its middle
        """
        <line>
        """
      Then what is shown is what the recording shows

      Examples:
        | what                | line                    |
        | A warning           | WARN: rate limit is near |
        | Half an event       | {"type":"text","part":{ |
        | Bytes of no text    | \xff\xfe\x01            |
        | An unexpected value | []                      |
