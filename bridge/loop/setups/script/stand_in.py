"""What stands in for a coding CLI on the PATH of a script: it hands its call to the host, and ends as that says.

This file is copied, by itself, under the CLI's name, into a folder beside the host's socket. It is started for each
call of the script's, so it imports nothing but what the interpreter brings along in C, and `os`.

It sends 8 bytes with the length of what follows, its descriptors beside them; then, with a NUL behind each: their
numbers, its umask and its niceness, the signals that it ignores, the working folder, the number of words, the
words, the environment. Later a byte for each signal that it gets. It is told ``x PATH`` (run that program in my
place; behind a NUL each, ``NAME=VALUE`` and ``NAME`` of variables that it is to have, and not to have) or
``s STATUS``.
"""

from _signal import (
    SIG_BLOCK,
    SIG_DFL,
    SIG_IGN,
    SIG_UNBLOCK,
    SIGHUP,
    SIGINT,
    SIGKILL,
    SIGPIPE,
    SIGQUIT,
    SIGTERM,
    SIGUSR1,
    SIGUSR2,
    SIGXFSZ,
    pthread_sigmask,
)
from _signal import getsignal as handler_of
from _signal import signal as handle

if __name__ == "__main__" and handler_of(SIGINT) != SIG_IGN:
    handle(SIGINT, SIG_DFL)  # at once, until there is somebody to pass it on to

import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket
from time import sleep

_PASSED = (SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2)
_IGNORED_BY_PYTHON = (SIGPIPE, SIGXFSZ)
_MOST_DESCRIPTORS = 60
_HELD = "RALPH_BRIDGE_HELD"
"""Set where a function of bash has started it, which waits for it in the place of a script's job."""


def main() -> None:
    host = _connected()
    _pass_signals_on(host)
    told = b""
    starter = os.getppid() if _HELD in os.environ else 0
    if starter:
        host.settimeout(0.1)
    while not told.endswith(b"\n"):
        try:
            data = host.recv(65536)
        except TimeoutError:
            if os.getppid() != starter:  # killed, as a script does to a job: this would have been that process
                os._exit(143)
            continue
        except OSError:
            data = b""
        if not data:  # the host is gone, and has the script ended: nothing is to follow meanwhile
            sleep(5)
            os._exit(143)
        told += data
    what, _, value = told[:-1].partition(b" ")
    if what == b"x":
        host.close()
        _become(*value.split(b"\0"))
    _end(int(value))


def _connected() -> socket:
    host = socket(AF_UNIX, SOCK_STREAM)
    while host.fileno() < 3:  # a script may have closed its own
        host = socket(AF_UNIX, SOCK_STREAM, 0, os.dup(host.fileno()))
    try:
        host.connect(os.path.join(os.path.dirname(os.path.dirname(sys.argv[0])), "host"))
        rest = memoryview(_call(host))
        while rest:
            rest = rest[host.send(rest) :]
    except OSError:
        os.write(2, os.fsencode(f"{sys.argv[0]}: ralph-bridge, which runs this script, is gone\n"))
        os._exit(143)
    return host


def _call(host: socket) -> bytes:
    """Send the descriptors, and give what follows them."""
    opened = _descriptors()
    ignored = [number for number in _PASSED if handler_of(number) == SIG_IGN]
    os.umask(mask := os.umask(0o77))
    words = [*map(os.fsencode, sys.argv)]
    parts = [
        _numbers(opened),
        _numbers([mask, os.nice(0)]),
        _numbers(ignored),
        _place(),
        b"%d" % len(words),
        *words,
    ]
    parts += [name + b"=" + value for name, value in os.environb.items()]
    payload = b"".join(part + b"\0" for part in parts)
    fds = b"".join(number.to_bytes(4, sys.byteorder) for number in opened)
    rights = [(SOL_SOCKET, SCM_RIGHTS, fds)] if fds else []
    host.sendmsg([len(payload).to_bytes(8, "big")], rights)
    return payload


def _numbers(values: "list[int]") -> bytes:
    return b" ".join(b"%d" % each for each in values)


def _descriptors() -> "list[int]":
    """Its own, and those that the script hands down: what stands for a file in an argument, a lock."""
    try:
        numbers = sorted(map(int, os.listdir("/dev/fd")))
    except OSError:
        numbers = [0, 1, 2]
    return [number for number in numbers if _is_handed_down(number)][:_MOST_DESCRIPTORS]


def _is_handed_down(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:
        return False


def _place() -> bytes:
    try:
        return os.getcwdb()
    except OSError:  # it has been removed
        return b""


def _pass_signals_on(host: socket) -> None:
    def pass_on(number: int, _frame: object) -> None:
        try:
            host.send(bytes([number]))
        except OSError:  # nobody is there any more
            _end(-number)

    for each in _PASSED:
        if handler_of(each) != SIG_IGN:
            handle(each, pass_on)


def _become(program: bytes, *variables: bytes) -> None:
    for number in _IGNORED_BY_PYTHON:
        handle(number, SIG_DFL)
    for each in variables:
        name, equals, value = each.partition(b"=")
        os.environb.pop(name, None)
        if equals:
            os.environb[name] = value
    try:
        os.execv(program, [program, *map(os.fsencode, sys.argv[1:])])  # noqa: S606
    except OSError as error:
        os.write(2, program + b": " + os.fsencode(str(error.strerror)) + b"\n")
        os._exit(126)


def _end(status: int) -> None:
    """End as the CLI has, also by the same signal."""
    if status < 0:
        pthread_sigmask(SIG_BLOCK, _PASSED)  # Python complains of one that comes just now
        if -status != SIGKILL:
            handle(-status, SIG_DFL)
        pthread_sigmask(SIG_UNBLOCK, _PASSED)
        os.kill(os.getpid(), -status)
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
