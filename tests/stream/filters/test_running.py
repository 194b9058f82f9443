"""A hook in one jq while it runs: promptness, order, memory, statuses, its end."""

from __future__ import annotations

import threading
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from tests.stream.filters.against_bash import Bench, drained

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bridge.scripts.stream.filters import HookRun, HostedFilter

LOOP = "hook() {{ while IFS= read -r line; do {}; done; }}"
DISPLAY = LOOP.format("""echo "$line" | jq -r .text 2>/dev/null || true""")
ENDLESS = "def f: f; if .text then .text else f end"


@pytest.fixture
def hosted() -> Iterator[HostedFilter]:
    with Bench(DISPLAY).hosted() as found:
        yield found


def started(hosted: HostedFilter, pieces: Iterable[bytes]) -> HookRun:
    running = hosted.display(pieces, end_lines=False, stderr=None)
    assert running is not None, hosted.why_not()
    return running


def test_a_line_is_printed_before_the_next_comes(hosted: HostedFilter) -> None:
    seen = threading.Semaphore(0)

    def stream() -> Iterator[bytes]:
        for piece in (
            b'{"text":"a"}\n',
            b'{"te',
            b'xt":',
            b'"b"}\n',
            b'garbage\n{"text":1} {"text":2}\n',
            b'{"text":"lost"}',
        ):
            yield piece
            if piece.endswith(b"\n"):
                assert seen.acquire(timeout=10)

    running = started(hosted, stream())
    pieces = []
    while piece := running.read():
        pieces.append(piece)
        seen.release()
    assert pieces == [b"a\n", b"b\n", b"1\n2\n"]
    assert running.status == 0
    running.close()


def test_what_is_slow_keeps_its_place(hosted: HostedFilter) -> None:
    lines = [b'{"text":%d}\n' % number if number % 7 else b'{"text":%d} \xff\n' % number for number in range(30)]
    running = started(hosted, [b"".join(lines)])
    assert drained(running) == (b"".join(b"%d\n" % number for number in range(30)), 0)


@pytest.mark.parametrize("data", [b'{"text":1}\n[[1]]\n{"text":2}\n', b"[" * 300 + b"]" * 300 + b'\n{"text":2}\n'])
def test_a_line_that_is_too_much_costs_only_itself(data: bytes) -> None:
    Bench(DISPLAY).check(data * 3)


STATUSES = [b'{"text":1}', b"5", b"no", b"", b"-n", b'5 {"text":1}']


@pytest.mark.parametrize("line", STATUSES)
@pytest.mark.parametrize("end", ["", "2>/dev/null", "2>/dev/null || true", '2>/dev/null || echo "$line"'])
def test_the_status_is_that_of_the_last_line(line: bytes, end: str) -> None:
    Bench(LOOP.format(f'echo "$line" | jq .text {end}')).check(b'no\n5\n{"text":2}\n' + line + b"\n")


def test_no_lines_at_all() -> None:
    Bench(LOOP.format('echo "$line" | jq .text')).check(b"")


@pytest.mark.parametrize("option", ["r", "j", "c", "rc", "S", "a"])
def test_options(option: str) -> None:
    data = '{"text":{"b":[1,"é",{}],"a":[]}}\n{"text":"é"}\n{"text":""}\nno\n[]\n{"text":null}\n'.encode()
    Bench(LOOP.format(f'jq -{option} .text <<< "$line" 2>/dev/null')).check(data)


def test_a_file_that_is_none() -> None:
    with Bench(DISPLAY.replace("done;", 'done < "$1";')).hosted() as hosted:
        for path in ("/nowhere", "/", "/dev/null"):
            assert hosted.extract(path, stderr=None) is None


def test_memory_does_not_grow_with_the_length(hosted: HostedFilter) -> None:
    line = b'{"text":"%s"}\n' % (b"x" * 500)

    def peak(count: int) -> int:
        tracemalloc.start()
        running = started(hosted, (line for _ in range(count)))
        while running.read():
            pass
        running.close()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    assert peak(20_000) < 12 << 20


def test_a_line_of_20_megabytes(hosted: HostedFilter) -> None:
    size = 20 << 20
    data = b'{"text":"' + b"x" * size + b'"}\n'
    running = started(hosted, (data[at : at + 65536] for at in range(0, len(data), 65536)))
    assert len(drained(running)[0]) == size + 1


def test_output_without_end_comes_as_it_is_made() -> None:
    with Bench(LOOP.format("jq -r 'repeat(.text)' <<< \"$line\" 2>/dev/null")).hosted() as hosted:
        running = started(hosted, [b'{"text":"yes"}\n'])
        size = 0
        while size < 3 << 20:
            size += len(running.read())
        running.close()


def test_a_filter_that_never_ends_can_be_ended() -> None:
    with Bench(LOOP.format(f"jq -r '{ENDLESS}' <<< \"$line\" 2>/dev/null")).hosted() as hosted:
        running = started(hosted, [b'{"text":"a"}\n{}\n{"text":"b"}\n'])
        assert running.read() == b"a\n"
        assert running.read_within(0.1) is None
        begun = time.monotonic()
        threading.Timer(0.2, running.terminate).start()
        assert drained(running)[0] == b""
        assert time.monotonic() - begun < 5
