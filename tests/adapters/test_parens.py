"""The bracket counter; each row is one of its rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.adapters.payload import balance_of
from bridge.adapters.schema_model import BalancedParens

LISP = BalancedParens(
    line_comment=";", block_comment=("#|", "|#"), char_literal_prefix="#\\", datum_comment_prefix="#;"
)

COMPLETE = [
    "(+ 1 2)",
    "",
    "(define (f x) (+ x 1))",
    "[1 2 3]",
    "(let ([x 1] [y 2]) (+ x y))",
    '"((("',
    '(display "(")',
    r'(display "say \"hi\"")',
    r'"#\("',
    '""',
    r'"\""',
    '"one\ntwo\nthree"',
    r'"escaped \" and #; ;; #| |# ( [ {"',
    "; (((\n(+ 1 2)",
    ";; comment\r\n(+ 1 2)",
    "(+ 1 2) ; trailing",
    "; #| not a block comment\n(+ 1 2)",
    "#| nested |# (+ 1 2)",
    "#||#",
    r'#| "unclosed #; ;; #\( ( [ { |# (+ 1 2)',
    r"(char->integer #\()",
    r"(list #\( #\) #\[)",
    r"(list #\( #\( #\()",
    r"(char->integer #\space)",
    r"(char->integer #\")",
    r"(char->integer #\;)",
    r"(char->integer #\|)",
    r"(char->integer #\\)",
    r"#\(",
    r"#\( hello",
    "#\\",
    "(+ 1 #;999 2)",
    "(+ 1 #;(nested list here) 2)",
    '(+ 1 #;"skipped string" 2)',
    "(list 1 #;#;(a) (b) 2)",
    "#;#;(a) atom",
    "#;#;(a) (b) (c)",
    r'(+ 1 #;(let ([c #\(] [s "("]) c) 2)',
    "#; #| cmt |# (foo)",
    "(1 2]",
    "(" * 200 + ")" * 200,
    "(a ,b ,@c)",
    "#+nil (skipped) (included)",
    "#| #| |#",
    "'sym",
]

INCOMPLETE = [
    ("(+ 1", 1),
    ("(define (f x", 2),
    ("(+ 1 2))", -1),
    ('"unterminated', 0),
    ('"one\ntwo', 0),
    ('"\\', 0),
    ("#| open without close", 0),
    ("#;", 0),
    ("#; \n\t", 0),
    ("#;#;(a)", 0),
    ("#;#;(a b c d)", 0),
    ("#;#;#;(a) (b)", 0),
    ("(" * 200 + ")" * 199, 1),
    (")", -1),
    ("#;(a", 1),
]


@pytest.mark.parametrize("code", COMPLETE)
def test_complete(code: str) -> None:
    assert balance_of(code, LISP) == (True, 0, "")


@pytest.mark.parametrize(("code", "depth"), INCOMPLETE)
def test_incomplete_says_why(code: str, depth: int) -> None:
    balance = balance_of(code, LISP)
    assert (balance.complete, balance.depth) == (False, depth)
    assert balance.reason


@pytest.mark.parametrize(("code", "depth"), [("(+ 1 2)", 0), ("(+ 1", 1), ("; (", 1), ("#\\(", 1)])
def test_without_a_language_there_are_no_comments(code: str, depth: int) -> None:
    assert balance_of(code, BalancedParens()).depth == depth


@given(st.text(alphabet='()[]"\\;#| \na'))
def test_any_text_gets_a_balance(code: str) -> None:
    balance = balance_of(code, LISP)
    assert balance.complete == (not balance.reason)
