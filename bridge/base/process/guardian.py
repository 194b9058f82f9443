"""When the host is killed with -9, its shells end, too: one small ``sh`` per host sees to it.

It reads what to guard from a pipe whose only writer is the host, line by line: ``+ PID FOLDER`` when a shell
starts, ``- PID`` when one has ended. End-of-file means that the host is gone, however it went: the guardian
then kills what is left of those sessions, removes their folders and ends. ``= PIDS NAME=VALUE`` has it kill what
has that in its environment, too (where that can be seen), in whatever session, if it began before the host's end
and is none of PIDS; ``~`` takes all of these back. It starts with the first shell, or loop, and
ends with the last (its list is empty then), so it is never left behind.

Without it, only an idle bash would notice (end-of-file on its channel); one in the middle of a hook would wait
for ever to deliver its reply. After a fork in the host the child drops its copy of the pipe: it neither keeps
the guardian from noticing the parent's end, nor touches the parent's shells; its own get a guardian of their own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# POSIX sh. /proc where there is one, else ps (macOS), whose last-but-one column is the process group: jobs of
# `set -m` have groups of their own and are found as children of bash.
_SCRIPT = r"""
trap '' HUP INT QUIT TERM
list= spared=,
while read -r what pid folder; do
    case $what in
    =) spared="$spared$pid," && set -- "$@" -e "$folder" ;;
    '~') spared=, && set -- ;;
    +) list="$list $pid"; eval "folder_$pid=\$folder" ;;
    -) rest=
        for other in $list; do [ "$other" = "$pid" ] || rest="$rest $other"; done
        list=$rest ;;
    esac
done
read -r since _ 2>/dev/null </proc/uptime && since=${since%.*}${since#*.} || set --
table() {
    if [ -r /proc/self/stat ]; then
        for file in /proc/[0-9]*/stat; do
            read -r line <"$file" || continue
            pid=${file#/proc/}
            set -- ${line##*) }
            echo "${pid%/stat} $2 $4 $1"
        done 2>/dev/null
    else
        ps -A -o pid= -o ppid= -o pgid= -o stat=
    fi
}
family() {
    found=" $list " living= rows=$(table) more=x
    while [ -n "$more" ]; do
        more=
        while read -r pid parent group state; do
            case $living in *" $pid "*) continue ;; esac
            case $state in Z*) continue ;; esac
            case $found in
            *" $pid "* | *" $parent "* | *" $group "*) found="$found$pid " living="$living $pid " more=x ;;
            esac
        done <<END
$rows
END
    done
}
# In hundredths of a second, as the 22nd field of stat. Whoever began later belongs to the next run of the project,
# unless what we have killed is its parent.
had=" "
marked() {
    [ $# -gt 0 ] || return 0
    for file in $(grep -lzFx "$@" /proc/[0-9]*/environ 2>/dev/null); do
        pid=${file#/proc/} pid=${pid%/environ}
        case $spared in *",$pid,"*) continue ;; esac
        read -r line 2>/dev/null <"/proc/$pid/stat" || continue
        set -- ${line##*) }
        case $1 in Z* | X*) continue ;; esac
        if [ "${20}" -gt "$since" ]; then
            case $had in *" $2 "*) ;; *) continue ;; esac
        fi
        living="$living $pid" had="$had$pid "
    done
}
turn=0 empty=0
# Twice in a row: the table takes its time, and a process that forks and ends meanwhile hides its child from it.
while [ -n "$list$*" ] && [ $empty -lt 2 ] && [ $turn -lt 100 ]; do
    turn=$((turn + 1))
    family
    marked "$@"
    if [ -n "$living" ]; then
        empty=0
        kill -9 $living 2>/dev/null
    else
        empty=$((empty + 1))
    fi
    sleep 0.02 2>/dev/null || sleep 1
done
for pid in $list; do eval "rm -rf -- \"\$folder_$pid\""; done
"""

_lock = threading.Lock()
_watched: dict[int, str] = {}
_process: subprocess.Popen[bytes] | None = None
_marks: dict[str, str] = {}
"""The marks of this process's runs, with the pids that are spared."""
_unclaimed: set[int] = set()
"""Threads with a child that may have announced itself to the guardian, and that was not given to `watch` yet: a
guardian that was stopped meanwhile would end it."""
_doubtful = False
"""Whether the guardian may know a child that has ended before anybody learnt its pid."""


def watch(pid: int, folder: str = "") -> None:
    """From now on the session that `pid` leads, and `folder` if given, end with this process at the latest."""
    with _lock:
        _watched[pid] = folder
        _tell(f"+ {pid} {folder}\n")
        _settle()


@contextlib.contextmanager
def pipe(at_least: int = 0) -> Iterator[int]:
    """A copy of the guardian's pipe, for a child that is about to be forked, and that leads a session of its own.

    The child is to write ``+ PID FOLDER`` and to close it. So there is no moment at which the host could be killed
    and the child not: as long as the child has not spoken, its copy keeps the guardian from seeing the end. The
    block is to start the child, which the same thread is to give to :func:`watch` then; where it raises, there is
    no child.

    Args:
        at_least: the lowest number that the copy may have.
    """
    global _doubtful
    with _lock:
        _unclaimed.add(threading.get_ident())
        if _process is None:
            _start(_mark_lines())
        assert _process is not None
        assert _process.stdin is not None
        # A copy, since the child's own `forget` closes the original. exec closes this one.
        copy = fcntl.fcntl(_process.stdin.fileno(), fcntl.F_DUPFD_CLOEXEC, at_least)
    started = False
    try:
        yield copy
        started = True
    finally:
        os.close(copy)  # first: the guardian waits for its end
        if not started:
            with _lock:
                _doubtful = True
                _settle()


@contextlib.contextmanager
def announcing() -> Iterator[Callable[[], None]]:
    """As :func:`pipe`, for a child that runs Python until its ``exec``: what it calls before that."""
    with pipe() as copy:

        def announce() -> None:
            with contextlib.suppress(OSError):
                os.write(copy, f"+ {os.getpid()} \n".encode())

        yield announce


def mark(text: str, spared: Iterable[int]) -> None:
    """From now on what has `text` (not with a newline) in its environment ends with this process at the latest, but
    for those pids.
    """
    with _lock:
        if "\n" not in text:
            _marks[text] = ",".join(map(str, spared))
            _tell(_mark_lines())


def unmark(text: str) -> None:
    """What carries that mark may outlive this process."""
    with _lock:
        _marks.pop(text, None)
        _tell_or_stop(_mark_lines())


def _mark_lines() -> str:
    return "~\n" + "".join(f"= {spared or 0} {text}\n" for text, spared in _marks.items())


def release(pid: int) -> None:
    """The session has ended. To be called before its leader is reaped: then its pid can't be somebody else's."""
    with _lock:
        _watched.pop(pid, None)
        if _process is not None:
            _tell_or_stop(f"- {pid}\n")


def _tell_or_stop(line: str) -> None:
    if _watched or _unclaimed or _marks:
        _tell(line)
    else:
        _stop(line)


def _tell(line: str) -> None:
    if _process is not None:
        with contextlib.suppress(OSError):  # somebody has killed it
            _write(_process, line)
            return
        _stop("")
    _start(_known())


def _known() -> str:
    return _mark_lines() + "".join(f"+ {pid} {folder}\n" for pid, folder in _watched.items())


def _write(process: subprocess.Popen[bytes], line: str) -> None:
    assert process.stdin is not None
    os.write(process.stdin.fileno(), line.encode("utf-8", "surrogateescape"))


def _start(lines: str) -> None:
    global _process
    _process = subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        cwd="/",
        start_new_session=True,  # Ctrl-C in a terminal is for the host
        bufsize=0,
    )
    _write(_process, lines)


def _settle() -> None:
    """This thread's child is known, or there is none. Doubts are settled once no other one is under way."""
    global _doubtful
    _unclaimed.discard(threading.get_ident())
    if _unclaimed or not _doubtful:
        return
    _doubtful = False
    _stop("".join(f"- {pid}\n" for pid in _watched))
    if _watched or _marks:
        _start(_known())


def _stop(line: str) -> None:
    global _process
    process, _process = _process, None
    if process is not None:
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            _write(process, line + "~\n")
        process.stdin.close()
        process.wait()


def forget() -> None:
    """In a forked child: the guardian and the shells are the parent's."""
    global _process, _lock, _doubtful
    _marks.clear()
    _lock = threading.Lock()
    _watched.clear()
    _unclaimed.clear()
    _doubtful = False
    if _process is not None:
        assert _process.stdin is not None
        _process.stdin.close()
        _process.returncode = 0  # not ours to wait for
        _process = None
