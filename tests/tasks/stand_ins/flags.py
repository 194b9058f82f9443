"""How a program made with Go's cobra reads its flags: what our stand-ins for ``gh`` and ``bd`` have in common.

A stand-in is as strict as the real program: what that would refuse, a test finds here.
"""

from __future__ import annotations

import csv
import fcntl
import json
import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Failed(Exception):
    """The program ends with a message on stderr."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def read_flags(words: Sequence[str], known: str, usage: str) -> tuple[dict[str, Any], list[str]]:
    """Read a command line.

    Args:
        words: behind the command's name.
        known: of its flags, a word each: ``-l/--label=[]`` takes a list (CSV, repeatable), ``-f/--field={}`` texts
            (repeatable), ``-r/--repo=`` a text, ``--draft`` nothing.
        usage: of the command, for messages.
    """
    names, takes = {}, {}
    for flag in known.split():
        spelt, equals, kind = flag.partition("=")
        *short, long = spelt.split("/")
        takes[long] = equals + kind
        names.update(dict.fromkeys([*short, long], long))
    found: dict[str, Any] = {}
    rest: list[str] = []
    waiting = list(words)

    def wrong(message: str) -> NoReturn:
        raise Failed(f"{message}\n\nUsage:  {usage} [flags]\n")

    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return found, rest + waiting
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        spelt, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if spelt not in names:
            letter = f"unknown shorthand flag: '{spelt[1:]}' in {word}"
            wrong(f"unknown flag: {spelt}" if word.startswith("--") else letter)
        long = names[spelt]
        if not takes[long]:
            found[long] = value.lower() != "false" if word.startswith("--") and equals else True
            if not word.startswith("--") and equals:
                waiting.insert(0, f"-{value}")
            continue
        if not equals:
            if not waiting:
                wrong(f"flag needs an argument: {word}")
            value = waiting.pop(0)
        if takes[long] == "=[]":
            if '"' in value and not value.startswith('"'):
                wrong(f'invalid argument {json.dumps(value)} for "{long}" flag: parse error: bare " in field')
            found.setdefault(long, []).extend(next(csv.reader([value]), []))
        elif takes[long] == "={}":
            found.setdefault(long, []).append(value)
        else:
            found[long] = value
    return found, rest


@contextmanager
def opened(path: str, words: Sequence[str], said: Mapping[str, tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Give what the store holds, to be changed, while nobody else does; have the call noted and failures come.

    Args:
        path: of the store, a JSON file.
        words: of the call.
        said: message and exit status of each way to fail that the program has words for.
    """
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(f"{path}.calls", "a") as calls:
            calls.write(json.dumps([*words]) + "\n")
        with open(path) as file:
            store = json.load(file)
        failure = _due(store, words)
        if failure is not None:
            _write(path, store)
        if failure is not None and not failure["after"]:
            fail(failure["how"], said)
        yield store
        _write(path, store)
        sys.stdout.flush()
        if failure is not None:
            fail(failure["how"], said)


def _write(path: str, store: Mapping[str, Any]) -> None:
    with open(f"{path}.new", "w") as file:
        json.dump(store, file)
    os.replace(f"{path}.new", path)


def _due(store: Mapping[str, Any], words: Sequence[str]) -> dict[str, Any] | None:
    for each in store["failures"]:
        wanted: list[str] = each["when"].split()
        if not all(word in words for word in wanted):
            continue
        if each["skip"] > 0:
            each["skip"] -= 1
        elif each["times"] > 0:
            each["times"] -= 1
            return dict(each)
    return None


def fail(how: str, said: Mapping[str, tuple[str, int]]) -> NoReturn:
    """Fail as ordered: ``garbage``, ``hang``, ``flood``, ``kill`` (of who called), or with the program's words."""
    if how == "garbage":
        sys.stdout.buffer.write(b'\x1b]0;owned\x07[{"number": 1, \xff\n<html>' * 3)
        sys.stdout.flush()
        os._exit(0)
    if how == "hang":
        time.sleep(600)
    if how == "flood":
        for _ in range(1_000):
            sys.stdout.write("[" + " " * 1_000_000)
        os._exit(0)
    if how == "kill":
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(1)
    message, status = said[how]
    raise Failed(message, status)
