"""Settings: where they come from, what they may be, and what is refused before anything starts."""

from __future__ import annotations

import re

from tests.setups.frankbria.blackbox.scenario import DEFAULT_TOOLS, SESSION, Scenario

PROMPT = "Do the next task of the plan."
FIRST = re.compile(r"^Loop #1\. Remaining tasks: 2\. ?$")
JSON = ("--output-format", "json")
ASKED = ("--append-system-prompt", FIRST, "-p", PROMPT)
TOOLS = ("Write", "Read", "Edit", "Bash(git *)", "Bash(npm *)", "Bash(pytest)")
NOT_STARTED = {".ralph/status.json": None, ".ralph/.call_count": None, "~/kept/runs": None}
"""What is left where nothing has started."""
AGED = "echo '@ID@' > .ralph/.claude_session_id; touch -d '5 hours ago' .ralph/.claude_session_id".replace(
    "@ID@", SESSION
)

PRECEDENCE = [
    Scenario(
        "keep_the_command_line",
        rc="CLAUDE_MODEL=opus\nCLAUDE_EFFORT=high",
        claude=["works"],
        calls=2,
        ends="plan_complete",
        argv={
            1: [["claude", "--model", "opus", "--effort", "high", *JSON, "--allowedTools", *TOOLS, *ASKED]],
            2: [("--allowedTools", *TOOLS, "--resume", SESSION, "--append-system-prompt"), ("-p", PROMPT)],
        },
    ),
    Scenario(
        "keep_the_defaults",
        files={".ralphrc": "PROJECT_NAME=mine\n"},
        calls=1,
        argv={1: [["claude", *JSON, "--allowedTools", *DEFAULT_TOOLS.split(","), *ASKED]]},
        status={"max_calls_per_hour": 100, "max_tokens_per_hour": 0},
    ),
    Scenario(
        "f01_options_win_over_the_file",
        words="--calls 7 --output-format text --allowed-tools 'Read, Glob' --no-continue --verbose --notify",
        claude=['change; text "Worked.\\n$(block IN_PROGRESS false)"'],
        afterwards='finish; text "Worked.\\n$(block IN_PROGRESS false)"',
        calls=2,
        ends="plan_complete",
        argv={2: [("--allowedTools", "Read", "Glob"), "!--output-format", "!--resume"]},
        status={"max_calls_per_hour": 7},
        left={"~/kept/notify-send": str},
    ),
    Scenario(
        "f01_the_prompt_of_the_option",
        rc="PROMPT_FILE=.ralph/PROMPT.md",
        words="-p .ralph/other.md",
        files={".ralph/other.md": "Something else.\n\n"},
        calls=1,
        argv={1: [("-p", "Something else.")]},
    ),
    Scenario(
        "f01_session_expiry_is_over", words="--session-expiry 3", before=AGED, calls=1, argv={1: ["!--resume"]}
    ),
    Scenario(
        "f01_session_expiry_is_not_over",
        rc="SESSION_EXPIRY_HOURS=3",
        words="--session-expiry 6",
        before=AGED,
        calls=1,
        argv={1: [("--resume", SESSION)]},
    ),
    Scenario(
        "f01_options_win_over_the_environment",
        env={"MAX_CALLS_PER_HOUR": "5", "CLAUDE_ALLOWED_TOOLS": "Write"},
        words="-c 7 --allowed-tools Read",
        argv={1: [("--allowedTools", "Read", "--append-system-prompt")]},
        status={"max_calls_per_hour": 7},
    ),
    Scenario(
        "f02_the_environment_wins_over_the_file",
        env={
            "ALLOWED_TOOLS": "Read",
            "SESSION_CONTINUITY": "false",
            "MAX_CALLS_PER_HOUR": "9",
            "CLAUDE_MODEL": "haiku",
        },
        rc="CLAUDE_MODEL=opus",
        claude=["works"],
        argv={2: [("--model", "haiku"), ("--allowedTools", "Read", "--append-system-prompt"), "!--resume"]},
        status={"max_calls_per_hour": 9},
    ),
    Scenario(
        "f02_the_internal_name_comes_first",
        env={"ALLOWED_TOOLS": "Read", "CLAUDE_ALLOWED_TOOLS": "Glob", "CLAUDE_USE_CONTINUE": "false"},
        claude=["works"],
        argv={2: [("--allowedTools", "Glob", "--append-system-prompt"), "!--resume"]},
    ),
    Scenario(
        "f02_thresholds_of_the_environment",
        env={"CB_NO_PROGRESS_THRESHOLD": "1"},
        afterwards="idles",
        calls=1,
        ends="breaker_trips",
    ),
    Scenario(
        "keep_an_empty_variable_is_none",
        env={"MAX_CALLS_PER_HOUR": "", "CLAUDE_ALLOWED_TOOLS": "", "CLAUDE_MODEL": ""},
        rc="MAX_CALLS_PER_HOUR=8\nCLAUDE_MODEL=opus",
        argv={1: [("--model", "opus"), ("--allowedTools", *TOOLS)]},
        status={"max_calls_per_hour": 8},
    ),
]

FILE = [
    Scenario(
        "keep_the_file_as_bash_reads_it",
        rc="""\
MAX_CALLS_PER_HOUR=6
  MAX_CALLS_PER_HOUR=7   # seven

export CLAUDE_MODEL='op us'
CLAUDE_EFFORT="${WANTED:-high}"
MY_OWN="something \\"quoted\\""; MAX_TOKENS_PER_HOUR=${NOTHING:-5}000""",
        argv={1: [("--model", "op us", "--effort", "high")]},
        status={"max_calls_per_hour": 7, "max_tokens_per_hour": 5000},
    ),
    Scenario(
        "keep_names_of_the_environment_in_the_file",
        env={"WANTED": "low"},
        rc='CLAUDE_EFFORT="${WANTED:-high}"\nCLAUDE_MODEL="$HOME/models/${CLAUDE_EFFORT}"',
        argv={1: [("--effort", "low"), ("--model", re.compile("^/.*/home/models/low$"))]},
    ),
    Scenario(
        "keep_carriage_returns",
        files={".ralphrc": 'CLAUDE_MODEL="opus"\r\nMAX_CALLS_PER_HOUR=7\r\nALLOWED_TOOLS=Read\r\n'},
        argv={1: [("--model", "opus"), ("--allowedTools", "Read", "--append-system-prompt")]},
        status={"max_calls_per_hour": 7},
    ),
    Scenario(
        "f33_an_error_of_syntax",
        rc="if [ -n x; then",
        code=1,
        left=NOT_STARTED,
        says=[r"\.ralphrc.*\b18\b|\b18\b.*\.ralphrc"],
    ),
    Scenario(
        "f33_a_quote_that_is_never_closed",
        rc='CLAUDE_MODEL="opus',
        code=1,
        left=NOT_STARTED,
        says=[r"\.ralphrc.*\b18\b|\b18\b.*\.ralphrc"],
    ),
    Scenario(
        "f33_code_is_not_run_and_not_guessed",
        rc='CLAUDE_MODEL="$(touch canary; echo opus)"',
        code=1,
        left={**NOT_STARTED, "canary": None},
        says=[r"\.ralphrc.*\b18\b|\b18\b.*\.ralphrc"],
    ),
    Scenario(
        "keep_shell_init_file",
        files={"~/init.sh": "export MARK=here\nPATH=$HOME/more:$PATH\n"},
        rc='RALPH_SHELL_INIT_FILE="$HOME/init.sh"',
        left={"~/kept/env.1": re.compile(r"MARK=here\0.*?", re.DOTALL)},
        after="tr '\\0' '\\n' < ~/kept/env.1 | grep -q ^PATH=$HOME/more:",
    ),
]


def _bad(
    name: str, rc: str = "", *, words: str = "", env: dict[str, str] | None = None, says: str = ""
) -> Scenario:
    """Refused at the start, with the key and the place."""
    return Scenario(name, rc=rc, words=words, env=env or {}, code=1, left=NOT_STARTED, says=[says] if says else [])


REFUSED = [
    *(
        _bad(f"f21_{key.lower()}_{number}", f"{key}={value}", says=rf"{key}.*\.ralphrc|\.ralphrc.*{key}")
        for number, (key, value) in enumerate(
            [
                ("MAX_CALLS_PER_HOUR", "abc"),
                ("MAX_CALLS_PER_HOUR", "0"),
                ("CLAUDE_TIMEOUT_MINUTES", "15m"),
                ("MAX_TOKENS_PER_HOUR", "lots"),
                ("SESSION_EXPIRY_HOURS", "-1"),
                ("CB_NO_PROGRESS_THRESHOLD", "none"),
            ]
        )
    ),
    _bad("f21_of_the_environment", env={"MAX_CALLS_PER_HOUR": "many"}, says="MAX_CALLS_PER_HOUR"),
    _bad("f21_of_an_option", words="--calls many", says="--calls"),
    *(
        _bad(f"f20_{option.strip('-')}_without_a_value", words=option, says=option)
        for option in ("-c", "-p", "-t", "--allowed-tools", "--output-format", "--session-expiry", "--github-issue")
    ),
    *(_bad(f"keep_timeout_{value}", words=f"--timeout {value}", says="120") for value in ("0", "121", "015", "x")),
    _bad("keep_output_format", words="--output-format xml", says="json"),
    _bad("keep_session_expiry", words="--session-expiry 0"),
    _bad("keep_tools_that_are_none", words="--allowed-tools 'Read,no tool!'", says="no tool!"),
    Scenario(
        "f31_the_tools_of_today",
        words="--allowed-tools 'Agent, Skill,mcp__server__tool,Bash(a *)'",
        argv={
            1: [("--allowedTools", "Agent", "Skill", "mcp__server__tool", "Bash(a *)", "--append-system-prompt")]
        },
    ),
    Scenario("keep_no_tools_at_all", words="--allowed-tools ''", argv={1: ["!--allowedTools"]}),
    _bad("keep_a_program_that_is_not_there", "CLAUDE_CODE_CMD=nobody", says="nobody"),
    *(
        Scenario(
            f"keep_integrity_{name.strip('.')}",
            files={name: None},
            code=1,
            left=NOT_STARTED,
            says=[re.escape(name)],
        )
        for name in (".ralphrc", ".ralph/AGENT.md", ".ralph/fix_plan.md")
    ),
    Scenario(
        "keep_the_prompt_is_missing",
        files={".ralph/PROMPT.md": None},
        code=1,
        left=NOT_STARTED,
        says=[r"PROMPT\.md", "ralph-enable"],
    ),
    Scenario(
        "f27_help_creates_nothing",
        words="--help",
        files={".ralph": None, ".ralphrc": None},
        left={".ralph": None},
        says=["--monitor", "--reset-circuit"],
    ),
    Scenario(
        "f27_a_flat_project",
        files={".ralph": None, ".ralphrc": None, "PROMPT.md": "Do it.\n", "@fix_plan.md": "- [ ] one\n"},
        code=1,
        left={".ralph": None},
        says=["ralph-migrate"],
    ),
    Scenario(
        "f27_a_flat_project_that_was_adopted",
        files={".ralph": None, "PROMPT.md": "Do it.\n", "@fix_plan.md": "- [ ] one\n"},
        before="mkdir -p .ralph/.ralph_bridge_adopted; touch .ralph/.ralph_bridge_adopted/.gitignore",
        code=1,
        calls=0,
        says=["ralph-migrate"],
        after="""test "$(find .ralph -type f)" = .ralph/.ralph_bridge_adopted/.gitignore""",
    ),
    Scenario(
        "f27_a_flat_project_is_not_the_plain_loops",
        program="run",
        words="--max-iterations 1",
        files={".ralph": None, "PROMPT.md": "Do it.\n", "@fix_plan.md": "- [ ] one\n"},
        code=2,
        calls=0,
        left={".ralph": None},
        says=["ralph-migrate"],
    ),
    Scenario(
        "f27_a_flat_project_by_name",
        program="run",
        words="--setup frankbria",
        files={".ralph": None, ".ralphrc": None, "PROMPT.md": "Do it.\n"},
        code=2,
        calls=0,
        left={".ralph": None},
        says=["ralph-migrate"],
    ),
]

COMMANDS = [
    Scenario(
        "f05_npx",
        before="cp ~/bin/claude ~/bin/npx",
        rc='CLAUDE_CODE_CMD="npx @anthropic-ai/claude-code"',
        calls=1,
        ends="plan_complete",
        argv={1: [("npx", "@anthropic-ai/claude-code", "--output-format", "json")]},
    ),
    Scenario(
        "f05_with_arguments",
        rc="CLAUDE_CODE_CMD=\"claude --model 'x y'\"",
        calls=1,
        ends="plan_complete",
        argv={1: [("claude", "--model", "x y", "--output-format")]},
    ),
    Scenario(
        "f05_a_program_with_a_blank_in_its_path",
        before="mkdir ~/'my bin'; mv ~/bin/claude ~/'my bin/'",
        rc='CLAUDE_CODE_CMD="$HOME/my bin/claude"',
        calls=1,
        ends="plan_complete",
    ),
    Scenario(
        "f18_a_prompt_of_200_kb",
        files={".ralph/PROMPT.md": "word " * 40_000},
        calls=1,
        ends="plan_complete",
        left={"~/kept/stdin.1": re.compile("(word ){39999}word")},
    ),
    Scenario(
        "f19_nothing_is_updated",
        before="touch ~/kept/npm",
        rc="CLAUDE_AUTO_UPDATE=true",
        calls=1,
        left={"~/kept/npm": re.compile(r"\A(?!.*(update|install))", re.DOTALL)},
    ),
    Scenario(
        "f19_and_nobody_asked",
        before="touch ~/kept/npm",
        rc="CLAUDE_AUTO_UPDATE=false",
        calls=1,
        left={"~/kept/npm": ""},
    ),
    Scenario(
        "f25_a_dry_run_ends",
        words="--dry-run --calls 7",
        before="touch ~/kept/npm",
        left={**NOT_STARTED, "~/kept/npm": "", ".ralph/.ralph_session": None},
        says=["claude .*--allowedTools.*-p"],
        after='test -z "$(git status --porcelain)"; test -z "$(ls .ralph/logs)"',
    ),
    Scenario("f25_a_dry_run_of_the_file", rc="DRY_RUN=true", left=NOT_STARTED, says=["claude .*--allowedTools"]),
]
