"""A CLI of plain text that prints its prompt, which says how to end: that ends no loop, in any kind of setup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.examples import STATUS_DONE

if TYPE_CHECKING:
    from tests.examples import Project

ECHO = """\
while [ $# -gt 0 ]; do [ "$1" = -p ] && prompt=$2; shift; done
[ -n "$prompt" ] || prompt=$(timeout 5 cat)
printf 'user\\n%s\\nagent\\nI worked a bit.\\n' "$prompt"; touched"""


def test_a_prompt_that_is_printed_is_no_answer(night: Project) -> None:
    if night.example.setup == "ralphy" or night.example.agent:  # agents' scripts say what their response is
        return
    if night.example.scripted:  # what a script takes for an answer is its own matter
        return
    for name in ("PROMPT.md", ".ralph/PROMPT.md"):
        if name in night.example.files:
            told = STATUS_DONE.replace("\\n", "\n")
            night.write(name, f"Do a task. At the end say <promise>COMPLETE</promise>, or\n{told}\n")
    night.turns(otherwise=ECHO)
    loop = night.start("--max-iterations", "3", "--retry-delay", "0")
    assert loop.finished() == night.example.used_up, loop.said
    assert night.begun() == 3, loop.said
