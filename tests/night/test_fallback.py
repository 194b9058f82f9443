"""A provider's limit costs no night: another tool goes on, and the loop's own is back when its limit is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.examples import Project

THREAD = "0199a213-81c0-7800-8aa1-bbab2a035a53"
CODEX = rf"""#!/usr/bin/env bash
kept="$(dirname "$0")/../../kept"
case " $* " in *" --version "*) echo "codex-cli 0.50.0"; exit ;; esac
turn=1; while ! mkdir "$kept/codex.$turn" 2>/dev/null; do turn=$((turn + 1)); done
printf '%s\n' "$@" > "$kept/codex.$turn/arguments"
cat > "$kept/codex.$turn/stdin"
echo "codex $turn" >> work.txt
echo '{{"type":"thread.started","thread_id":"{THREAD}"}}'
step="$kept/codex-steps/$turn"; [ ! -e "$step" ] || . "$step"
echo '{{"type":"item.completed","item":{{"id":"1","type":"agent_message","text":"Codex has worked."}}}}'
echo '{{"type":"turn.completed","usage":{{"input_tokens":5,"cached_input_tokens":0,"output_tokens":6}}}}'
"""


def install(night: Project, *steps: str) -> None:
    """A second CLI, and what it does in its first turns beside its work."""
    night.write("bin/codex", CODEX)
    (night.kept / "codex-steps").mkdir(parents=True, exist_ok=True)
    for number, step in enumerate(steps, 1):
        (night.kept / "codex-steps" / str(number)).write_text(step + "\n")


def tools(night: Project) -> list[str]:
    """The tool of each turn."""
    return [record["tool"].removeprefix("driver ") for record in night.turn_records()]


def own(night: Project) -> str:
    return night.example.tool.removeprefix("driver ")


def test_another_tool_goes_on_at_a_limit(night: Project) -> None:
    install(night)
    night.turns("work", "limited 600")
    loop = night.start("--max-iterations", "3", "--retry-delay", "0", "--fallback", "driver:codex")
    assert loop.finished() == night.example.used_up, loop.said
    assert tools(night) == [own(night), own(night), "codex", "codex"]
    assert [record["result"] for record in night.turn_records()] == ["success", "limit", "success", "success"]
    assert "codex takes over" in loop.said
    night.readable()


def test_the_loops_own_tool_is_back_when_its_limit_is_over(night: Project) -> None:
    install(night, "sleep 2")
    night.turns("work", "limited -4", "work")  # with the margin, a second from now
    loop = night.start("--max-iterations", "3", "--retry-delay", "0", "--fallback", "driver:codex")
    assert loop.finished() == night.example.used_up, loop.said
    assert tools(night) == [own(night), own(night), "codex", own(night)], loop.said
