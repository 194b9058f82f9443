"""State that others read, too: sessions, counters, limits, logs; backups, notices, live output."""

from __future__ import annotations

import re

from tests.setups.frankbria.blackbox.scenario import SESSION, Scenario
from tests.setups.frankbria.blackbox.shapes import ISO

_KEEP = "cp .ralph/{name} $kept/seen; "


def _known(name: str, text: str, session: str) -> Scenario:
    return Scenario(
        name,
        files={".ralph/.claude_session_id": text},
        calls=1,
        argv={1: [("--resume", session) if session else "!--resume"]},
    )


_DEAD = (
    "No conversation found with session ID: an-id",
    "Error: --resume requires a valid session ID when used with --print",
)

SESSIONS = [
    Scenario(
        "keep_the_id_file",
        claude=["works", _KEEP.format(name=".claude_session_id") + "works"],
        left={"~/kept/seen": {"session_id": SESSION, "timestamp": re.compile(ISO)}},
        argv={2: [("--resume", SESSION)], 3: [("--resume", SESSION)]},
    ),
    Scenario(
        "keep_the_record",
        claude=["works", _KEEP.format(name=".ralph_session") + "works"],
        left={"~/kept/seen": {"session_id": re.compile("."), "created_at": re.compile(ISO), "reset_reason": str}},
    ),
    _known(
        "keep_an_id_of_the_original", f'{{\n  "session_id": "{SESSION}",\n  "timestamp": "@NOW@"\n}}\n', SESSION
    ),
    _known("keep_a_bare_id", "an-id_1\n", "an-id_1"),
    _known("keep_a_bare_id_in_thousands_of_lines", "an-id\n" * 5000, "an-id"),
    _known("keep_what_is_no_id", "not an id\n", ""),
    _known("keep_half_an_object", '{"session_id": "an-', ""),
    Scenario("keep_no_continuity", rc="SESSION_CONTINUITY=false", claude=["works"], argv={2: ["!--resume"]}),
    Scenario(
        "keep_an_id_that_is_too_old",
        before="echo an-id > .ralph/.claude_session_id; touch -d '25 hours ago' .ralph/.claude_session_id",
        argv={1: ["!--resume"]},
    ),
    Scenario(
        "keep_a_broken_record",
        files={".ralph/.ralph_session": "{broken"},
        claude=[_KEEP.format(name=".ralph_session") + "works"],
        left={"~/kept/seen": {"session_id": re.compile("."), "reset_reason": "corrupted_file_recovery"}},
    ),
    *(
        Scenario(
            f"f08_a_dead_session_{number}",
            files={".ralph/.claude_session_id": '{"session_id":"an-id","timestamp":"@NOW@"}\n'},
            claude=[f"echo '{text}' >&2; exit 1"],
            calls=2,
            ends="plan_complete",
            argv={1: [("--resume", "an-id")], 2: ["!--resume"]},
        )
        for number, text in enumerate(_DEAD)
    ),
]

COUNTERS = [
    Scenario(
        "keep_attempts_count",
        claude=["echo no >&2; exit 1"],
        calls=2,
        left={".ralph/.call_count": "2\n", ".ralph/.last_reset": re.compile(r"\A\d{10}\n\Z")},
        status={"calls_made_this_hour": 2},
    ),
    Scenario(
        "keep_the_hours_counters",
        files={".ralph/.call_count": "5\n", ".ralph/.token_count": "100\n", ".ralph/.last_reset": "@HOUR@\n"},
        left={".ralph/.call_count": "6\n", ".ralph/.token_count": "134\n"},
        status={"calls_made_this_hour": 6, "tokens_used_this_hour": 134},
    ),
    Scenario(
        "keep_another_hour",
        files={".ralph/.call_count": "100\n", ".ralph/.token_count": "7\n", ".ralph/.last_reset": "2026010203\n"},
        calls=1,
        left={".ralph/.call_count": "1\n", ".ralph/.token_count": "34\n"},
    ),
    Scenario(
        "f34_tokens_of_an_array_and_of_a_failed_run",
        claude=["""change; echo "[$(object x)]" """, "object no; exit 1"],
        left={".ralph/.token_count": "102\n"},
    ),
    Scenario(
        "keep_tokens_of_metadata",
        claude=[
            """change; echo '{"result":"x","metadata":{"session_id":"m-1","usage":"""
            """{"input_tokens":1,"output_tokens":2}}}'"""
        ],
        left={".ralph/.token_count": "37\n"},
        argv={2: [("--resume", "m-1")]},
    ),
    Scenario(
        "f17_quoted_words_are_no_limit",
        claude=[
            """change; object "I wrote: You've hit your session limit, usage limit reached, try back later." """
        ]
        * 2,
        calls=3,
        ends="plan_complete",
        says=["!(?i)waiting"],
    ),
    Scenario(
        "f17_quoted_words_of_a_failed_run",
        claude=[
            """object "I documented how the 5 hour limit works." '"is_error":true'; exit 1""",
            "echo 'warning: the 5 hour limit is in README.md' >&2; exit 1",
        ],
        calls=3,
        ends="plan_complete",
        left={".ralph/logs/ralph.log": re.compile(r"(?s)\A(?!.*API limit:)")},
    ),
    Scenario(
        "f17_an_old_text",
        claude=["echo 'Claude usage limit reached. Please try back later.'; exit 1"],
        calls=2,
        ends="plan_complete",
        left={".ralph/logs/ralph.log": re.compile("(?i)limit")},
    ),
]

FILES = [
    Scenario(
        "keep_metrics",
        claude=["works", "exit 1"],
        calls=3,
        after="""
jq -sc '[length, (map(select(.success)) | length), .[2].loop, map(.calls)]' .ralph/logs/metrics.jsonl > ~/sums
grep -xF '[3,2,3,[1,1,1]]' ~/sums || { cat ~/sums .ralph/logs/metrics.jsonl >&2; exit 1; }
""",
    ),
    Scenario(
        "keep_what_the_monitor_reads",
        claude=["works", "cp .ralph/status.json $kept/seen; works"],
        left={
            "~/kept/seen": {
                "loop_count": 2,
                "calls_made_this_hour": 2,
                "max_calls_per_hour": 100,
                "last_action": "executing",
                "status": "running",
                "exit_reason": "",
                "sandbox": {"provider": "none"},
            }
        },
    ),
    Scenario(
        "keep_the_analysis",
        claude=["works", _KEEP.format(name=".response_analysis") + "works"],
        left={
            "~/kept/seen": {
                "loop_number": 1,
                "output_format": "json",
                "analysis": {
                    "exit_signal": False,
                    "has_progress": True,
                    "files_modified": 1,
                    "asking_questions": False,
                },
            }
        },
        argv={2: [re.compile("Previous: I worked")]},
    ),
    Scenario(
        "f29_each_run_has_a_log_of_its_own",
        claude=["works", "works"],
        after="test $(ls .ralph/logs/claude_output_*.log | grep -vc _stream) -eq 3",
    ),
    Scenario(
        "keep_rotation",
        before="mkdir -p .ralph/logs; head -c 10485760 /dev/zero | tr '\\0' x > .ralph/logs/ralph.log; "
        "echo older > .ralph/logs/ralph.log.1",
        after="test $(stat -c %s .ralph/logs/ralph.log.1) -ge 10485760; grep -q older .ralph/logs/ralph.log.2; "
        "test $(stat -c %s .ralph/logs/ralph.log) -lt 100000",
    ),
    Scenario("keep_no_git", files={".git": None}, claude=["works"], calls=2, ends="plan_complete"),
    Scenario(
        "keep_no_git_and_no_progress",
        files={".git": None, ".gitignore": None},
        afterwards="idles",
        calls=3,
        ends="breaker_trips",
    ),
    Scenario(
        "keep_notices",
        rc="ENABLE_NOTIFICATIONS=true",
        left={"~/kept/notify-send": re.compile("(?i)complete")},
    ),
    Scenario("keep_no_notices", left={"~/kept/notify-send": None}),
    Scenario(
        "keep_the_bell_where_there_is_nothing_else",
        words="-n",
        before="rm ~/bin/notify-send",
        env={"PATH": "@HOME@/bin:@HOME@/.local/bin:/usr/bin:/bin"},
        says=["\\a"],
    ),
]

_MINE = """
echo kept > stashed; git add stashed; git stash push -q; echo changed >> src/main.txt; echo new > untracked
echo junk > ignored.log; echo staged > staged; git add staged
git rev-parse HEAD > ~/head; git stash list > ~/stashes; git ls-files -s > ~/index;
"""
_MINE = f"git config user.name t; git config user.email t@e; {_MINE}"

BACKUPS = [
    Scenario(
        "f23_a_backup_holds_uncommitted_work",
        words="-b",
        before=_MINE,
        claude=["echo over > src/main.txt; echo over > untracked; git ls-files -s | cmp - ~/index; works"],
        calls=2,
        after="""
first=$(git branch --list 'ralph-backup-loop-1-*' --format '%(refname:short)')
test "$(git show "$first:src/main.txt")" = "$(printf 'begun\\nchanged')"
test "$(git show "$first:untracked")" = new; test "$(git show "$first:staged")" = staged
! git show "$first:ignored.log"
test "$(git branch --list 'ralph-backup-loop-*' | wc -l)" -eq 2
git rev-parse HEAD | cmp - ~/head; git stash list | cmp - ~/stashes; git ls-files -s | cmp - ~/index
test "$(git symbolic-ref --short HEAD)" = main
git log -1 --format=%s "$first" | grep -q 'Ralph backup before loop #1'
""",
    ),
    Scenario(
        "keep_a_backup_of_the_file",
        rc="ENABLE_BACKUP=true",
        calls=1,
        after="git branch --list 'ralph-backup-loop-1-*' | grep -q .",
    ),
    Scenario(
        "keep_no_backup_without_git",
        words="-b",
        files={".git": None},
        calls=1,
        ends="plan_complete",
        says=["(?i)warn"],
    ),
    Scenario("keep_rollback_without_backups", words="--rollback", code=1, calls=0),
    Scenario(
        "keep_rollback_lists",
        words="--rollback",
        before="git branch ralph-backup-loop-1-1700000000; git branch ralph-backup-loop-2-1700000100",
        calls=0,
        says=["ralph-backup-loop-2-1700000100", "ralph-backup-loop-1-1700000000"],
    ),
    Scenario(
        "keep_rollback_lists_one_second_by_name",
        words="--rollback",
        before="""
for each in 2-1700000000 10-1700000000 9-1700000000 1-1700000060 mine 1-1699999999; do
    git branch ralph-backup-loop-$each
done
""",
        calls=0,
        says=[r"loop-1-1700000060\s.*loop-10-1700000000\s.*-9-17.*-2-1700000000\s.*-1-1699999999\s.*-mine\s"],
    ),
    Scenario("keep_rollback_to_what_is_not_there", words="--rollback nothing", code=1, calls=0),
]

LIVE = [
    Scenario(
        "f22_a_line_in_the_stream_that_is_no_json",
        words="--live",
        claude=[
            """
echo '{"type":"system","subtype":"init","session_id":"@ID@"}'; echo 'a warning, no JSON'
printf '{"type":"stream_event","event":{"type":"content_block_delta",'
echo '"delta":{"type":"text_delta","text":"Hello there."}}}'
works""".replace("@ID@", SESSION)
        ],
        calls=2,
        ends="plan_complete",
        argv={
            1: [("--output-format", "stream-json"), "--verbose", "--include-partial-messages"],
            2: [("--resume", SESSION)],
        },
        says=[r"Hello there\."],
        after="grep -q 'a warning' .ralph/logs/claude_output_*_stream.log; test -e .ralph/live.log",
    ),
    Scenario(
        "keep_live_and_text",
        words="--live --output-format text",
        calls=1,
        argv={1: [("--output-format", "stream-json")]},
        ends="plan_complete",
    ),
]
