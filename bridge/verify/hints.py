"""What to do about the findings of checks that have one usual answer, which is yet no single safe change."""

from __future__ import annotations

_IF = "put the condition into an if: if [[ ... ]]; then ...; fi"
_QUOTE = "quote it where it is one word"

HINTS: dict[str, str] = {
    "RB004": "write it as bash 3.2 has it, such as 2>&1 | for |&",
    "RB077": "answer by the status alone: true or false, command -v NAME >/dev/null 2>&1",
    "RB080": _IF,
    "RB100": _IF,
    "RB101": 'fail without a prompt: [[ -f "$1" ]] || { echo "no prompt: $1" >&2; return 1; }',
    "RB105": _QUOTE,
    "RB106": _QUOTE,
    "RB107": _QUOTE,
    "RB109": _QUOTE,
    "RB115": "trim each entry of its blanks",
    "RB118": "print it on stderr: >&2",
    "RB179": 'while IFS= read -r line || [[ -n "$line" ]]; do',
    "RB184": _IF,
    "RB186": _IF,
}
"""By the code of the check; for findings that have no better one of their own."""
