"""Documents that are spread over lines, wherever they are cut for a first look."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.scripts.stream import documents
from bridge.scripts.stream.documents import parse_whole

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text(max_size=8), VALUES, max_size=4), max_size=4), st.integers(17, 200))
def test_a_document_is_found_wherever_the_first_look_ends(wanted: list[dict[str, object]], window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "_WINDOW", window)
        for ascii_only in (True, False):
            told = "\n[INFO] building\n".join(
                json.dumps(each, indent=1, ensure_ascii=ascii_only) for each in wanted
            )
            assert parse_whole(told.encode()) == wanted


def test_an_error_counts_no_lines_in_front_of_it() -> None:
    log = "[2026-11-20 10:00:00] building\n" * 10_000
    with pytest.raises(json.JSONDecodeError) as caught:
        documents._document_at(log, 31 * 5_000)
    assert len(caught.value.doc) < 10_000
    assert parse_whole(log.encode() + b'{\n"a": 1}\n') == [{"a": 1}]
