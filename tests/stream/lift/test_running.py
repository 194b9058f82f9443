"""A lifted hook while it runs: promptness, bounded memory, statuses."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from bridge.stream.lift import JqFacts, Lifted, Outcome, lift
from bridge.stream.lift.lines import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

DISPLAY = """hook ()
{
    while IFS= read -r line; do
        echo "$line" | jq -r '.text' 2> /dev/null%s;
    done
}
"""


def hook(end: str = " || true", facts: JqFacts | None = None) -> Lifted:
    found = lift(DISPLAY % end, jq=facts)
    assert isinstance(found, Lifted), found
    return found


def never(data: bytes) -> Outcome:
    raise AssertionError(data)


def test_a_line_is_printed_before_more_is_asked_for() -> None:
    asked: list[str] = []

    def stream() -> Iterator[bytes]:
        for piece in (b'{"text":"a"}\n{"te', b'xt":', b'"b"}\n', b'{"text":"c"}\n', b'{"text":"lost"}'):
            asked.append(piece.decode())
            yield piece

    running = hook().run([], {}, stream(), oracle=never)
    assert not asked
    assert (next(running), len(asked)) == (b"a\n", 1)
    assert (next(running), len(asked)) == (b"b\n", 3)
    assert (next(running), len(asked)) == (b"c\n", 4)
    assert list(running) == []
    assert running.status == 0


def test_what_precedes_a_doubt_is_printed_before_bash_is_asked() -> None:
    asked: list[bytes] = []

    def oracle(data: bytes) -> Outcome:
        asked.append(data)
        return Outcome(b"bash\n")

    data = [b'{"text":"a"}\n{"text":1.0}\n{"text":"b"}\n']
    running = hook().run([], {}, data, oracle=oracle)
    assert (next(running), asked) == (b"a\n", [])
    assert list(running) == [b"bash\n", b"b\n"]
    assert asked == [b'{"text":1.0}\n']


@pytest.mark.parametrize(
    ("line", "status"), [(b'{"text":1}', 0), (b"5", 5), (b"no", 4), (b"", 0), (b"-n", 0), (b'5 {"text":1}', 0)]
)
def test_the_status_is_that_of_the_last_line(line: bytes, status: int) -> None:
    facts = JqFacts("jq-1.6", not_json=4)
    running = hook("", facts).run([], {}, [b"no\n5\n", line + b"\n"], oracle=never)
    list(running)
    assert running.status == status
    forgiving = hook(" || true", facts).run([], {}, [line + b"\n"], oracle=never)
    list(forgiving)
    assert forgiving.status == 0


def test_errexit_ends_the_loop() -> None:
    lines = [b'{"text":"a"}\n5\n{"text":"b"}\n']
    running = hook("").run([], {}, lines, oracle=never, options={"errexit"})
    assert (list(running), running.status) == ([b"a\n"], 5)


def test_memory_does_not_grow_with_the_length() -> None:
    line = b'{"text":"%s"}\n' % (b"x" * 500)

    def peak(count: int) -> int:
        tracemalloc.start()
        for _ in hook().run([], {}, (line for _ in range(count)), oracle=never):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    assert peak(20_000) < 2 * peak(200)


def test_a_line_of_20_megabytes() -> None:
    size = 20 << 20
    data = b'{"text":"' + b"x" * size + b'"}\n'
    pieces = (data[at : at + 65536] for at in range(0, len(data), 65536))
    assert sum(map(len, hook().run([], {}, pieces, oracle=never))) == size + 1


def test_lines_that_bash_5_2_joins_stay_together() -> None:
    data = b"ok\nx\xe9\nnext\nmore\n"
    for size in (1, 3, 100):
        found = list(blocks(data[at : at + size] for at in range(0, len(data), size)))
        assert b"x\xe9\nnext\n" in [block.raw for block in found]
        assert "".join(block.text for block in found) == "ok\nmore\n"


def test_nul_bytes_are_dropped_where_read_drops_them() -> None:
    assert [block.text for block in blocks([b"a\0b\n\0"])] == ["ab\n"]
    assert [block.text for block in blocks([b"a\0b\n"], nul=True)] == ["a\0b\n"]
