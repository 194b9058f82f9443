"""What arrives at the far end of a command: the argv, stdin and environment of the program that it is all for.

Stand-ins for what starts another program, here or elsewhere (ssh, docker, npx, sudo ...), are on PATH in front of
the real ones, so that none of these is ever started.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_SHELLS = ("bash", "sh", "dash", "zsh", "ksh", "env")
_ELSEWHERE = ("ssh", "sudo", "docker", "podman", "kubectl", "npx", "bunx", "uvx")
_HERE = ("timeout", "nice", "nohup", "stdbuf", "command")
_HERE_ON_MACOS = ("gtimeout", "gnice", "gstdbuf")
FOLLOWED = frozenset((*_SHELLS, *_ELSEWHERE, *_HERE, *_HERE_ON_MACOS, "xargs"))
"""Programs that start another one, which they are given, and that have a stand-in which does what they do."""

_STARTERS = _names(
    "sshpass autossh mosh doas su runuser nerdctl finch docker-compose podman-compose oc devcontainer mise rtx nix "
    "nix-shell direnv limactl lima vagrant multipass distrobox toolbox lxc incus wsl wsl.exe orb orbctl colima "
    "tailscale gh gcloud op doppler infisical dotenvx dotenv aws-vault chamber devbox secretspec poetry pipenv pdm "
    "rye hatch conda mamba micromamba bundle asdf pyenv nodenv volta fnm systemd-run systemd-inhibit firejail "
    "bwrap sandbox-exec caffeinate unbuffer gtime torsocks proxychains proxychains4 pnpx "
    "pipx npm pnpm yarn bun uv"
)
_OUTSIDE = _names(
    "git scp sftp rsync curl wget nc ncat telnet ftp glab aws az helm pip pip3 brew apt apt-get open xdg-open "
    "osascript systemctl mail"
)
REPLACED = (*_ELSEWHERE, *_HERE_ON_MACOS, *_STARTERS, *_OUTSIDE)
"""Programs that never run: they reach outside of the machine, or start what does, or aren't on every machine."""

_LOCAL = _names(
    "ionice setsid time script chrt taskset prlimit flock arch chronic rlwrap winpty eatmydata fakeroot "
    "dbus-run-session dbus-launch xvfb-run faketime"
)
"""Programs that start another one here: in commands that are followed they have stand-ins, in hooks they run."""
UNFOLLOWED = frozenset((*_STARTERS, *_LOCAL))
"""Programs that may start another one. Nobody looks for what that is given."""
WRAPPERS = FOLLOWED | UNFOLLOWED

_PLAIN = frozenset(
    (
        *("cat", "cd", "echo", "printf", "base64", "jq", "sed", "tr", "awk", "head", "tail", "tee", "test", "true"),
        *("false", "sleep", "mkdir", "rm", "dirname", "basename", "pwd", "date", "grep", "cut", "sort", "wc", "od"),
        *("mktemp", "export", "exec", "eval", "source", "set", "unset", "read", "if", "then", "fi", "while", "do"),
        *("done", "for", "case", "esac", "in", "local", "return", "exit", "python3", "perl", "trap", "umask"),
        *_HERE,
        *_HERE_ON_MACOS,
        *_LOCAL,
        "xargs",
    )
)
_LONGEST = 100
"""Characters of a program's name; what is longer is base64 or the like, and may be no file's name."""

_RECORD = r"""#!@BASH@
shopt -u expand_aliases
n=$(($(cat '@CONTROL@/far.count' 2>/dev/null || echo 0) + 1))
echo "$n" >'@CONTROL@/far.count'
{
    printf '%s\0' "$#" "$@"
    IFS= read -r -d '' text || :
    printf '%s\0' "$text"
    for name in $(compgen -e); do
        case $name in PATH | BASH_ENV | PWD | OLDPWD | SHLVL | _) ;; *) printf '%s\0' "${!name}" ;; esac
    done
} >"@CONTROL@/far.$n"
: >"@CONTROL@/whole.$n"
read -r status 2>/dev/null <'@CONTROL@/far.status' || status=0
exit "$status"
"""
_PROGRAM = '#!@BASH@\nexec \'@CONTROL@/record\' "${0##*/}" "$@"\n'
# Folders and files of the far side aren't here; and what a shell there would find may be missing here.
_BASH_ENV = """cd() {
    while [[ "${1-}" == -?* ]]; do shift; done
    if [ $# -gt 1 ]; then echo "cd: too many arguments" >&2; return 1; fi
}
pushd() { :; }
source() { :; }
command_not_found_handle() { '@CONTROL@/record' "$@"; }
"""


_BY_PATH = re.compile(
    rf"(?<![\w.$}}/-])/(?:[\w.+-]+/)+({'|'.join(map(re.escape, (*_SHELLS, *REPLACED)))})(?![\w/.-])"
)


class Arrival(NamedTuple):
    """What a command has started at its far end, if anything.

    given: the program's name, its arguments and its stdin. refusal: what a program on the way would say that starts
    nothing. unfollowed: the first program on the way that may start another one, and has no stand-in that does.
    status: the command's own.
    """

    given: list[str]
    environment: list[str]
    refusal: str
    unfollowed: str
    status: int


class StandIns(NamedTuple):
    """The stand-ins on disk. outside: for what reaches outside. far: for all else that a command may start."""

    outside: Path
    far: Path
    control: Path
    bash: str
    system: str

    def lay_out(self) -> None:
        self.outside.mkdir()
        program = self.outside / ".stand-in"
        self._write(program, files(__package__).joinpath("far.sh").read_text())
        for name in _installed(self.system):
            os.link(program, self.outside / name)

    def mention(self, text: str) -> None:
        """A script has this text: what it names and may not run has a stand-in, installed here or not.

        So has a login shell, which would set PATH anew.
        """
        names = set(re.findall(r"[a-z][a-z0-9-]*", text)) & {*REPLACED}
        for name in (*names, *re.findall(r"\b([a-z]*sh)\s+-(?:[a-z]*l|-login)", text)):
            if name in (*REPLACED, *_SHELLS) and not (self.outside / name).exists():
                os.link(self.outside / ".stand-in", self.outside / name)

    def guards(self, text: str) -> str:
        """Code for a shell in which no program that may not run can be called by its path, as this text does."""
        found = {match[0]: match[1] for match in _BY_PATH.finditer(text) if match[1] in REPLACED}
        return "".join(f'function {path} {{ {name} "$@"; }}\n' for path, name in found.items())

    def shielded(self, argv: Sequence[str], path: str) -> list[str]:
        """The same command, in which neither a path nor another PATH leads around the stand-ins."""
        words = (_BY_PATH.sub(lambda found: found[1], word) for word in (os.path.basename(argv[0]), *argv[1:]))
        return [re.sub(r"(?<![\w$-])PATH=", lambda found: f"{found[0]}{path}:", word) for word in words]

    def for_command(self, argv: Sequence[str]) -> None:
        """Make the rest for commands of this kind: shells, starters, and recorders for the words in it."""
        if not self.far.exists():
            self.far.mkdir()
            self._write(self.control / "record", _RECORD)
            self._write(self.control / "far.bash", _BASH_ENV)
            self._write(self.control / "program", _PROGRAM)
            for name in (*_SHELLS, *REPLACED, *_HERE, *_LOCAL):
                os.link(self.outside / ".stand-in", self.far / name)
        for word in re.findall(r"(?<![\w./+-])[A-Za-z][\w.+-]*", " ".join(argv)):
            if word not in _PLAIN and len(word) <= _LONGEST and not (self.far / word).exists():
                os.link(self.control / "program", self.far / word)

    def _write(self, path: Path, text: str) -> None:
        for key, value in (("@BASH@", self.bash), ("@CONTROL@", str(self.control)), ("@SYSTEM@", self.system)):
            text = text.replace(key, value)
        path.write_text(text)
        path.chmod(0o755)

    def ends_with(self, status: int) -> None:
        """What is started at the far end ends with this status from now on; forget what was on the way before."""
        self._note("refused")
        self.unfollowed()
        (self.control / "far.status").write_text(f"{status}\n")

    def has_arrived(self) -> bool:
        return any(self.control.glob("whole.*"))

    def take(self, status: int) -> Arrival:
        """What was started at the far end since the last time, by a command that ended with this status."""
        given, environment = list[str](), list[str]()
        for whole in sorted(self.control.glob("whole.*")):
            whole.unlink()
            path = self.control / f"far{whole.suffix}"
            values = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")
            count = int(values[0])
            given += values[1 : count + 2]
            environment += values[count + 2 :]
            path.unlink()
        for path in self.control.glob("far.[0-9]*"):
            path.unlink()  # it was ended before it had written all
        (self.control / "far.count").unlink(missing_ok=True)
        refused = self._note("refused")
        return Arrival(given, environment, "" if given else refused, self.unfollowed(), status)

    def unfollowed(self) -> str:
        return self._note("unfollowed").partition("\n")[0]

    def _note(self, name: str) -> str:
        note = self.control / name
        text = note.read_text(errors="replace") if note.exists() else ""
        note.unlink(missing_ok=True)
        return text


@cache
def _installed(path: str) -> tuple[str, ...]:
    return tuple(name for name in REPLACED if shutil.which(name, path=path))


def why_unjudged(program: str) -> str:
    """Why nobody can say what arrives behind a program, and what makes that known."""
    return (
        f"what {program} starts is not followed; where the command begins with the CLI, or with one of "
        f"{', '.join(sorted(FOLLOWED - {'command'}))}, this can be judged"
    )
