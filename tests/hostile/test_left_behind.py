"""What a hook leaves behind (traps, options, variables): the calls after it are exact.

Each on every bash. Traces and traps that print are the script's own; what is compared is what the later calls gave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge import Shell
from tests.hostile.test_hostile import GRACE, HELPERS, accepted, outcome

if TYPE_CHECKING:
    from pathlib import Path

SPEAK = "speak() { printf '%s\\n' \"said $1\"; printf 'err\\n' >&2; return 7; }\n"
ERR = (
    ("set -E; trap 'return 3' ERR; return 5", "returned 5"),
    ("set -E; trap 'return 3' ERR; false; return 5", "returned 5"),
    ("set -Eeuo pipefail; trap 'echo \"line $LINENO\"; exit 3' ERR; return 5", "returned 5"),
    ("set -E; trap 'break' ERR; false; return 5", "returned 5"),
    ("set -o posix; set -e; trap 'exit 3' ERR; return 5", "returned 5"),
)
RETURN = (
    ("trap 'exit 3' RETURN; return 5", "exited 3"),
    ("set -T; trap 'exit 3' RETURN; return 5", "exited 3"),
    ("set -ETe; trap 'exit 9' ERR; trap 'exit 8' RETURN; return 5", "exited 8"),
    ("trap 'return 3' RETURN; return 5", "timeout"),
    ("set -T; trap 'return 3' RETURN; return 5", "timeout"),
    ("eval 'trap() { :; }; set -T; builtin trap \"return 3\" RETURN'; return 5", "timeout"),
    (
        "set -T; trap 'read() { return 1; }; builtin() { :; }; eval() { :; }; trap() { :; }' RETURN; return 5",
        "returned 5",
    ),
    ("set -T; trap 'unset IFS' RETURN; return 5", "returned 5"),
    ("trap 'trap \"exit 3\" DEBUG' RETURN; return 5", "returned 5"),
    ("set -T; trap 'while :; do :; done' RETURN; return 5", "timeout"),
)
DEBUG = (
    ("trap 'exit 3' DEBUG; return 5", "exited 3"),
    ("set -T; trap 'exit 3' DEBUG; return 5", "exited 3"),
    ("trap 'return 3' DEBUG; return 5", "returned 3 | returned 0"),
    ("set -T; trap 'while :; do :; done' DEBUG; return 5", "timeout"),
    ("trap 'read() { return 1; }; builtin() { :; }; eval() { :; }; trap() { :; }' DEBUG; return 5", "returned 5"),
    ("set -T; trap 'read() { return 1; }; builtin() { :; }; trap() { :; }' DEBUG; return 5", "returned 5"),
    ("set -T; trap 'IFS=:' DEBUG; return 5", "returned 5"),
    ("trap 'exec 1>&- 2>&-' DEBUG; return 5", "returned 5"),
    ("trap 'break 9' DEBUG; return 5", "returned 5 | returned 1"),
)
EXTDEBUG = (
    ("shopt -s extdebug; return 5", "returned 5"),
    ("shopt -s extdebug; trap : DEBUG; return 5", "returned 5"),
    ("shopt -s extdebug; trap 'exit 3' DEBUG; return 5", "exited 3"),
    ("shopt -s extdebug; trap '[[ $BASH_COMMAND != *printf* ]]' DEBUG; return 5", "returned 5"),
    ("shopt -s extdebug; trap '[[ $BASH_COMMAND != *trap* ]]' DEBUG; return 5", "returned 5"),
    ("shopt -s extdebug; trap 'case $BASH_COMMAND in *read*) return 1; esac' DEBUG; return 5", "returned 5"),
    # Nothing is run any more, not even our code: bash ends, as it would at the end of a script.
    ("shopt -s extdebug; trap false DEBUG; return 5", "exited 0 | died"),
    ("shopt -s extdebug; trap 'return 1' DEBUG; return 5", "exited 0 | died"),
    ("shopt -s extdebug; trap 'return 2' DEBUG; return 5", "exited 0 | died"),
    ("shopt -s extdebug; trap '[[ $BASH_COMMAND != *__rb_* ]]' DEBUG; return 5", "exited 0 | died"),
)
EXIT = (
    ("trap 'echo bye; exit 4' EXIT; return 5", "returned 5"),
    ("trap 'return 4' EXIT; exit 3", "exited 3"),
    ("trap 'exit 3' CHLD; sleep 0 & wait; return 5", "exited 3 | returned 5"),
    ("trap '' INT TERM PIPE CHLD; return 5", "returned 5"),
)
OPTIONS = (
    *(
        (f"set -o {name}; return 5", "returned 5")
        for name in ("functrace", "errtrace", "errexit", "nounset", "noglob")
    ),
    *(
        (f"set -o {name}; return 5", "returned 5")
        for name in ("posix", "noclobber", "vi", "emacs", "keyword", "allexport")
    ),
    *(
        (f"set -o {name}; return 5", "returned 5")
        for name in ("history", "monitor", "notify", "privileged", "pipefail")
    ),
    ("set -euo pipefail; set -o posix; set -ETC; return 5", "returned 5"),
    ("set -o posix; trap : DEBUG; set -T; return 5", "returned 5"),
    ("set +o braceexpand; set +o interactive-comments; return 5", "returned 5"),
    ("set -n; return 5", "exited 0 | died"),
    (
        "for o in $(set -o | cut -f1 | grep -Ev 'exec|onecmd|trace|verb'); do set -o $o; done 2>&-; return 5",
        "returned 5",
    ),
    ("for o in $(set -o | cut -f1); do set +o $o; done 2>&-; return 5", "returned 5"),
    ("for o in $(shopt | cut -f1 | grep -v -e compat -e restr); do shopt -s $o; done 2>&-; return 5", "returned 5"),
    ("for o in $(shopt | cut -f1); do shopt -u $o; done 2>&-; return 5", "returned 5"),
)
VARIABLES = (
    *((f"IFS={value}; return 5", "returned 5") for value in ("", "0123456789", "_r", "$'\\n'")),
    ("readonly IFS=x; return 5", "returned 5"),
    ("export BASH_ENV=/dev/zero ENV=/dev/zero; return 5", "returned 5"),
    ("PATH=; return 5", "returned 5"),
    ("unset PATH; hash -r; return 5", "returned 5"),
    ("readonly PATH=/none POSIXLY_CORRECT=1; return 5", "returned 5"),
    ("BASH_COMPAT=3.2; return 5", "returned 5"),
    ("GLOBIGNORE='*'; EXECIGNORE='*'; return 5", "returned 5"),
    ("LC_ALL=xx.bad LANG=tr_TR.UTF-8; return 5", "returned 5"),
    ("unset LINENO RANDOM BASHPID BASH_SUBSHELL BASH_COMMAND FUNCNAME BASH_SOURCE; return 5", "returned 5"),
)
ALL = (*ERR, *RETURN, *DEBUG, *EXTDEBUG, *EXIT, *OPTIONS, *VARIABLES)
AT_SOURCE = (
    ("trap 'exit 3' ERR; set -E", "returned 0"),
    ("trap 'return 3' RETURN", "returned 0"),
    ("set -T; trap 'exit 3' RETURN", "exited 3"),
    ("set -T; trap 'exit 3' DEBUG", "exited 3"),
    ("set -Eeuo pipefail; trap 'exit 1' ERR", "returned 0"),
)


def exact(shell: Shell) -> None:
    """Two calls of innocent functions, twice: status, outputs and values are what they should be."""
    for word, status in (("yes", 0), ("no", 1)):
        reply = shell.call("ping", word, "a  b", read=["PONG"], check=False)
        assert (reply.status, reply.values["PONG"]) == (status, [word, "a  b"])
        reply = shell.call("speak", "x y", check=False)
        assert (reply.status, reply.stdout, reply.stderr) == (7, "said x y\n", "err\n")
        shell["GIVEN"] = ["a b", ""]
        assert shell["GIVEN"] == ["a b", ""]


@pytest.mark.parametrize(("body", "wanted"), ALL)
def test_the_calls_after_it_are_exact(body: str, wanted: str, bash: str, tmp_path: Path, leaks: None) -> None:
    script = tmp_path / "left.sh"
    script.write_text(f"{HELPERS}{SPEAK}hook() {{ {body}; }}\n")
    with Shell(bash=bash, cwd=tmp_path, timeout=10, grace=GRACE) as shell:
        shell.source(script)
        seen, evidence = outcome(
            lambda: shell.call("hook", timeout=0.4 if wanted == "timeout" else 10, check=False)
        )
        assert accepted(seen, wanted), f"{seen}\n{evidence}"
        exact(shell)


@pytest.mark.parametrize(("code", "wanted"), AT_SOURCE)
def test_so_they_are_after_a_script_that_leaves_it(code: str, wanted: str, bash: str, tmp_path: Path) -> None:
    script = tmp_path / "left.sh"
    script.write_text(f"{HELPERS}{SPEAK}hook() {{ return 5; }}\n{code}\n")
    with Shell(bash=bash, cwd=tmp_path, timeout=10, grace=GRACE) as shell:
        seen, evidence = outcome(lambda: shell.source(script))
        assert accepted(seen, wanted), f"{seen}\n{evidence}"
        exact(shell)


@pytest.mark.parametrize("option", ["xtrace", "verbose"])
def test_a_trace_that_stays_on_shows_none_of_our_code(option: str, bash: str, tmp_path: Path) -> None:
    script = tmp_path / "left.sh"
    script.write_text(f"{HELPERS}{SPEAK}hook() {{ set -o {option}; }}\n")
    with Shell(bash=bash, cwd=tmp_path, timeout=10, grace=GRACE) as shell:
        shell.source(script)
        shell.call("hook")
        reply = shell.call("speak", "x", read=["PONG"], check=False)
        assert (reply.status, reply.stdout) == (7, "said x\n")
        traced = "++ speak x\n++ printf '%s\\n' 'said x'\n++ printf 'err\\n'\nerr\n++ return 7\n"
        assert reply.stderr == (traced if option == "xtrace" else "err\n")
