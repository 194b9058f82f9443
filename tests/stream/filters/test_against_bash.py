"""In one jq or in bash: the same bytes, the same status. RALPH_BRIDGE_LIFT_EXAMPLES asks for more examples."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.stream.filters import cases
from tests.stream.filters.against_bash import Bench

EXAMPLES = int(os.environ.get("RALPH_BRIDGE_LIFT_EXAMPLES", "6"))
generously = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
SHELLS = st.sampled_from([(), ("pipefail",), ("errexit",), ("pipefail", "errexit"), ("nounset",)])
LOCALES = st.sampled_from(["C.UTF-8", "C"])
CHUNKS = st.sampled_from([1, 13, 1 << 20])


@generously
@given(cases.LOOP_HOOKS, cases.INPUTS, SHELLS, LOCALES, CHUNKS)
def test_loops(bash: str, script: str, data: bytes, options: tuple[str, ...], locale: str, chunk: int) -> None:
    Bench(script, bash=bash, options=options, locale=locale).check(data, chunk, lifted=False)


def said(text: str) -> str:
    return '{"type":"assistant","message":{"content":[{"type":"text","text":"' + text + '"}]}}'


A, B, C = said("a"), said("b"), said("c")
HOOK = """hook() { while IFS= read -r line; do
    echo "$line" | jq -r 'select(.type=="assistant") | .message.content[] | select(.type=="text").text' 2>/dev/null
done < "$1"; }"""
EDGES = {
    "no JSON": "oops\n",
    "several values on a line": f"{A} {B} x {C}\n",
    "an error in the middle of a line": f'{A} {{"type":"assistant"}} {B}\n',
    "a value over two lines": '{"type":\n"assistant"}\n',
    "a Latin-1 letter at the end, which bash 5.2 joins": f"x\udce9\n{A}\n{B}\n",
    "a Latin-1 letter within": said("caf\udce9") + f"\n{B}\n",
    "NUL bytes": A.replace("assi", "assi\0") + "\n\0\n",
    "no last newline": f"{A}\n{B}",
    "nothing": "",
    "lines that echo takes for options": "-n\n-e\n-E\n-neE\n-nx\n--\n",
    "backslashes": said(r"a\\b") + "\n" + said(r"\n") + "\n\\\n",
    "an escaped needle": A.replace("assistant", r"\u0061ssistant") + "\n",
    "half a surrogate pair": said(r"\ud800") + "\n" + said(r"\ud83d\ude00") + "\n",
    "nested more deeply than jq 1.6 goes": "[" * 300 + "]" * 300 + "\n",
    "byte 0x1E": '\x1e{"type":1}\n',
    "a byte order mark": f"\ufeff{A}\n",
    "a bare nan": A.replace('"type"', '"x":nan,"type"', 1) + "\n",
    "a carriage return": f"{A}\r\n",
    "blanks": f"  \t{A} \n\n \n",
    "a long line": said("x" * 300_000) + "\n",
}


@pytest.mark.parametrize("data", EDGES.values(), ids=list(EDGES))
def test_edges(bash: str, data: str) -> None:
    Bench(HOOK, bash=bash).check(data.encode("utf-8", "surrogateescape"), 7 if len(data) < 10_000 else 1 << 20)


NUMBERS = ["1.0", "1", "-0", "0", "0.5", "0.001", "0.0001", "1e5", "1e1000", "9007199254740993", "123456.789"]


@pytest.mark.parametrize("program", [".a, [.a]", r'"\(.a)"', ".a == 1, .a + 1"])
def test_numbers(program: str) -> None:
    data = "".join(f'{{"a":{number}}}\n' for number in NUMBERS).encode()
    Bench(f"""hook() {{ while IFS= read -r l; do jq -c '{program}' <<< "$l" 2>/dev/null; done; }}""").check(data)


def test_what_jq_says_goes_to_stderr() -> None:
    bench = Bench('hook() { while IFS= read -r line; do echo "$line" | jq .a; done; }')
    data = b'{"a":1}\nno\n5\n{"a":2} 6\n'
    ours = bench.in_one_jq(data)
    assert ours is not None
    assert ours[0] == bench.in_bash(data, as_file=False)


def test_globals_and_arguments() -> None:
    bench = Bench(
        """TAG='[t] '; FILTER='$tag + .a'
hook() { local file="$1"; while IFS= read -r line; do
    printf '%s\\n' "$line" | jq -r --arg tag "$TAG" "$FILTER" 2>/dev/null || true
done < "$file"; }"""
    )
    bench.check(b'{"a":"x"}\n{"a":1}\n')
