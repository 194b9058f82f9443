"""A CLI that prints the prompt before its answer has said none of that."""

from __future__ import annotations

import time

import pytest

from bridge.scripts.stream.echo import Echo

PROMPT = b"# Task\n\nDo the next one.\nThen say <promise>COMPLETE</promise>.\n"


def left(output: bytes, *sent: bytes) -> bytes:
    taken: list[bytes] = []
    echo = Echo(sent or (PROMPT,), taken.append)
    for line in output.splitlines(keepends=True):
        echo.feed(line)
    echo.end()
    return b"".join(taken)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (b"user\n" + PROMPT + b"\nI did one.\n", b"user\n\nI did one.\n"),
        (PROMPT.strip(), b""),
        (PROMPT.replace(b"\n", b"\r\n") + b"x", b"x"),
        (b"# Task\n" + PROMPT + b"x\n", b"# Task\nx\n"),  # it begins anew
        (PROMPT.replace(b"next", b"last"), PROMPT.replace(b"next", b"last")),
        (b"# Task\n\nDo the next one.\n", b"# Task\n\nDo the next one.\n"),
        (b"Done. <promise>COMPLETE</promise>\n", b"Done. <promise>COMPLETE</promise>\n"),
    ],
)
def test_what_was_sent_is_left_out_as_a_whole(output: bytes, expected: bytes) -> None:
    assert left(output) == expected


def test_it_is_left_out_once_and_what_is_short_never() -> None:
    assert left(PROMPT + PROMPT) == PROMPT
    assert left(b"done\n", b"done") == b"done\n"
    assert left(b"a context of some words\n" + PROMPT, PROMPT, b"a context of some words") == b""


def test_long_prompts_take_no_time() -> None:
    prompt = b"".join(b"- line %d of it\n" % each for each in range(5000))
    began = time.process_time()
    assert left(prompt[:-2] + b"?\n", prompt) == prompt[:-2] + b"?\n"
    assert time.process_time() - began < 2
