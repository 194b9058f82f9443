"""What a hostile CLI tries from within its box, and what an honest one must be able to do.

The attempts are made in a turn of a real loop, each in a shell of its own, and those that get through are noted by
name. Without a box they do, so that none fails by its own clumsiness.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil
import pytest

from bridge.base.process.ask import ask
from bridge.loop.engine.set_aside import FOLDER
from bridge.loop.sandbox import admitted, cgroup
from bridge.loop.sandbox.box import Box
from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from bridge.loop.setups.projects import state_folders
from tests.command import MAIN
from tests.examples import EXAMPLES, lives, project, until
from tests.machine import NO_BOX, NO_PROVIDER, mostly_slow
from tests.sandbox.boxes import Ordinary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import ExitStack
    from pathlib import Path

    from bridge.loop.sandbox.box_policy import Provider
    from tests.examples import Project

pytestmark = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)
SECRET = "s3cret-of-the-host"

_HIDDEN = (
    *(".ssh/id_ed25519", ".aws/credentials", ".netrc", ".bash_history", ".config/gh/hosts.yml", ".git-credentials"),
    *(".config/git/credentials", ".gnupg/private-keys-v1.d/k", ".docker/config.json", ".kube/config", ".npmrc"),
    *("other/project/.env", ".local/share/keyrings/login", ".config/ralph-bridge/notes", ".claude-other/x"),
)
"""Files of the home that hold secrets."""
_BELIEVED = (
    *(".claude/settings.json", ".claude/hooks/stop.sh", ".codex/config.toml", ".bashrc", ".profile"),
    *(".local/bin/tool", "other/project/code", ".claude/status.sh", ".claude/local/claude"),
    *(".claude.json", ".claude/shell-snapshots/of-another.sh", ".claude/ide/1.lock"),
)
"""Files of the home that the user's programs go by."""
_PROJECTS = {
    ".git/hooks/post-commit": "#!/bin/sh\n",
    ".claude/settings.json": "{}\n",
    ".claude/hooks/stop.sh": "#!/bin/sh\n",
    ".mcp.json": "{}\n",
    ".envrc": ":\n",
    ".vscode/settings.json": "{}\n",
    ".husky/pre-push": "#!/bin/sh\n",
    ".gitshared": "[alias]\n",
    ".git/modules/sub/HEAD": "ref: refs/heads/main\n",
    ".git/modules/sub/config": "[core]\n",
    ".git/ralph-bridge/swarm/20260101-000000/swarm.json": "{}\n",
    ".git/modules/sub/hooks/post-commit": "#!/bin/sh\n",
}
"""Files of the project that the host's git, or the user's tools, run or believe."""

READS = {f"~/{each}": f'grep -q {SECRET} "$HOME/{each}"' for each in _HIDDEN} | {
    "own environment": "env | grep -q ^HOST_SECRET=",
    "address of notices": "env | grep -q ^RALPH_BRIDGE_NOTIFY=",
    "environment of others": "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -q ^HOST_SECRET=",
    "files of others by their root": f'cat /proc/[0-9]*/root"$HOME"/.netrc | grep -q {SECRET}',
    "files of others by their folder": f"cat /proc/[0-9]*/cwd/.netrc | grep -q {SECRET}",
    "descriptors of others": f"cat /proc/$VICTIM/fd/9 | grep -q {SECRET}",
    "a link that leads out": f'ln -sf "$HOME/.netrc" out; grep -q {SECRET} out',
    "a hard link": f'ln -f "$HOME/.netrc" out && grep -q {SECRET} out',
    "the editor's token": "grep -q . ~/.claude/ide/1.lock",
    "an agent's socket": '[ -S "$HOME/agent.sock" ]',
    "/tmp of the host": f'grep -q {SECRET} "$HOME/../in-tmp"',
    "a process of the host": "kill -0 $VICTIM && grep -q agent.sock /proc/$VICTIM/cmdline",
}
"""By name: code that gets through when its status is 0."""

WRITES = {
    "core.hooksPath": "echo : > .husky/pre-commit",
    "core.hooksPath by a rename": "mv .husky .husky2",
    "an included file": "echo '[core]' >> .gitshared",
    "an included file by a rename": "cp .gitshared x && mv -f x .gitshared",
    "settings of claude": "echo '{}' >> .claude/settings.json",
    "settings of claude by a rename": "mv .claude .claude2",
    "hook scripts of claude": "echo : >> .claude/hooks/stop.sh",
    ".mcp.json": "echo '{}' >> .mcp.json",
    ".mcp.json by a rename": "echo > x.json && mv -f x.json .mcp.json",
    ".envrc": "echo : >> .envrc",
    ".envrc by a removal": "rm -f .envrc; [ ! -e .envrc ]",
    ".vscode": "echo '{}' > .vscode/tasks.json",
    "times": "touch -d 2000-01-01 .envrc",
    "~/.claude/settings.json": "echo '{}' >> ~/.claude/settings.json",
    "~/.claude/settings.json by another": "echo > ~/.claude/n && mv -f ~/.claude/n ~/.claude/settings.json",
    "~/.claude/hooks": "echo : >> ~/.claude/hooks/stop.sh",
    "~/.claude's own scripts": "echo : >> ~/.claude/status.sh",
    "~/.claude/local": "echo : >> ~/.claude/local/claude",
    "~/.claude by a rename": "mv ~/.claude ~/.claude2",
    "the project by a rename": "mv ../project ../project2",
    "the prompt by a rename of its folder": 'case $PROMPT in */*) mv "${PROMPT%%/*}" moved ;; *) false ;; esac',
    "a program on PATH": "echo : >> bin/claude",
    "a new program on PATH": "printf '#!/bin/sh\\n' > bin/git && chmod +x bin/git",
    "programs on PATH by a rename": "mv bin bin2",
    "the prompt": 'echo evil >> "$PROMPT"',
    "the prompt by a file in its place": 'echo evil > x && mv -f x "$PROMPT"',
}
"""The same; a copy of all of it is made for each when there is no box."""

LOST = {
    "a new hook": "echo : > .git/hooks/pre-commit",
    "a hook that is there": "echo : >> .git/hooks/post-commit",
    "a mode of a hook": "chmod 777 .git/hooks/post-commit",
    "hooks by a rename of their folder": "mv .git/hooks .git/h && mkdir .git/hooks",
    "hooks by a rename of .git": "cp -r .git .git3 && mv .git .git2 && mv .git3 .git",
    "hooks by a removal": "rm -rf .git/hooks; [ ! -e .git/hooks ]",
    "git's configuration by a hard link": "ln .git/config linked && echo '#' >> linked",
    "git's configuration": "git config alias.x '!true'",
    "git's configuration by its lock": "cp .git/config .git/config.lock && mv -f .git/config.lock .git/config",
    "git's configuration in place": "echo '#' >> .git/config",
    "git's configuration cut short": ": > .git/config",
    "hooks of a submodule": "mkdir -p .git/modules/sub/hooks && echo : > .git/modules/sub/hooks/pre-commit",
    "the record of a swarm": "echo > .git/ralph-bridge/swarm/20260101-000000/swarm.json",
    "a swarm of its own": "mkdir -p .git/ralph-bridge/swarm/29990101-000000",
    "swarms by a rename": "mv .git/ralph-bridge .git/other",
    "configuration of a submodule": "echo '[x]' >> .git/modules/sub/config",
    "~/.bashrc": "echo : >> ~/.bashrc",
    "~/.profile": "echo : > ~/.profile",
    "~/.local/bin": "echo : > ~/.local/bin/tool",
    "servers of claude": 'echo \'{"mcpServers": {"x": {"command": "x"}}}\' > ~/.claude.json',
    "what another session sources": "echo : >> ~/.claude/shell-snapshots/of-another.sh",
    "another CLI's settings": "mkdir -p ~/.codex; echo >> ~/.codex/config.toml",
    "another project": "mkdir -p ~/other/project; echo > ~/other/project/code",
    "git's identity": "git config --global core.fsmonitor true",
    "units of the session": "mkdir -p ~/.config/systemd/user; echo > ~/.config/systemd/user/x.service",
}
"""Written into a home, or a git folder, that is gone behind the turn: only what is left on the host counts."""

POWERS = {
    "a device": "mknod sda b 8 0",
    "memory": "dd if=/dev/mem of=/dev/null bs=1 count=1",
    "disks": "ls -d /dev/sd* /dev/vd* /dev/nvme* /dev/loop* /dev/kvm /dev/fuse /dev/mem /dev/kmsg | grep -q .",
    "core_pattern": ": >> /proc/sys/kernel/core_pattern",
    "modprobe": ": >> /proc/sys/kernel/modprobe",
    "sysrq": ": >> /proc/sysrq-trigger",
    "caches": ": >> /proc/sys/vm/drop_caches",
    "/sys": ": >> /sys/kernel/uevent_helper || : >> /sys/power/state || : >> /sys/kernel/mm/ksm/run",
    "cgroups": "mkdir /sys/fs/cgroup/ralph-escape",
    "/etc": "echo >> /etc/passwd",
    "/usr": "echo > /usr/bin/planted",
    "/etc/shadow": "grep -q : /etc/shadow",
    "sockets": "find /run /var/run /tmp -type s | grep -q .",
    "a runtime folder": "[ -e /run/user ]",
    "capabilities": "! grep -q '^CapEff:.0*$' /proc/self/status",
    "a bound of capabilities": "! grep -q '^CapBnd:.0*$' /proc/self/status",
    "new privileges": "! grep -q '^NoNewPrivs:.1' /proc/self/status",
    "another root": "chroot / true",
    "another user": "setpriv --reuid 1 --clear-groups true",
    "a host name": "hostname escaped",
    "the clock": "date -s @0",
    "a terminal": ": < /dev/tty",
    "TIOCSTI": '$PYTHON -c \'import fcntl; fcntl.ioctl(open("/dev/tty"), 0x5412, b"x")\'',
    "TIOCSTI on stdout": "$PYTHON -c 'import fcntl; [fcntl.ioctl(n, 0x5412, b\"x\") for n in (0, 1, 2)]'",
    "ptrace": '$PYTHON -c "import ctypes; exit(ctypes.CDLL(None).ptrace(16, $VICTIM, 0, 0) != 0)"',
    "mount": "mount --bind /etc .envrc",
    "remount": "mount -o remount,rw,bind .husky",
    "umount": "umount .husky || umount -l .husky",
    "umount in a namespace": "unshare -Urm sh -c 'umount .husky || umount -l .husky'",
    "remount in a namespace": "unshare -Urm sh -c 'mount -o remount,rw,bind .husky'",
    "proc in a namespace": "unshare -Urmpf sh -c 'mount -t proc p /proc && : >> /proc/sys/kernel/core_pattern'",
    "the loop's lock": 'rm -f "$STATE/.ralph_bridge.lock"; [ ! -e "$STATE/.ralph_bridge.lock" ]',
    "the loop's record": 'echo "{}" > "$STATE/.ralph_bridge.json"',
    "the loop's logs": 'echo > "$STATE/logs/ralph.log"',
    "its state by a rename": 'mv "$STATE" "$STATE.2"',
}
"""Tried inside alone: on the host they would do harm, or take a machine that has what they reach for."""

_PROMPTS = {"pocock": "afk-ralph.sh", "wiggum-driver": "PROMPT.md", "wiggum-agent": "PROMPT.md"} | {
    "snarktank": "scripts/ralph/CLAUDE.md", "ralphy": ".ralphy/config.yaml", "ralph-loop": ".ralph/prompts/plan.md",
}  # fmt: skip


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755 if text.startswith("#!") else 0o644)


@dataclass
class Attack:
    """A project in the home of somebody with secrets, and a process of theirs."""

    home: Path
    made: Project
    victim: int
    port: int
    who: Ordinary

    def turn(self, step: str, *words: str) -> str:
        """Run a loop whose first turn does this; give what it said."""
        self.made.forget()
        self.made.done_after(step)
        loop = self.made.start(*words)
        loop.finished()
        assert self.made.begun() > 0, loop.said
        return loop.said

    @property
    def places(self) -> dict[str, str]:
        prompt = _PROMPTS.get(self.made.example.name, ".ralph/PROMPT.md")
        return {
            "VICTIM": str(self.victim),
            "STATE": os.path.relpath(self.made.state, self.made.path),
            "PROMPT": prompt,
            "PYTHON": self.who.python,
        }

    def reached(self, attempts: Mapping[str, str], *words: str) -> set[str]:
        """Make attempts in one turn; names of those that got through."""
        lines = [f"export {name}='{value}'" for name, value in self.places.items()]
        for number, (name, code) in enumerate(attempts.items()):
            script = self.made.kept / f"attempt.{number}"
            script.write_text(f"{code}\n")
            lines.append(
                f'timeout 5 bash "{script}" &> "$kept/said" < /dev/null && echo "{name}" >> "$kept/reached"'
            )
        said = self.turn("\n".join(["", ': > "$kept/reached"', *lines, 'echo end >> "$kept/reached"']), *words)
        *found, end = (self.made.kept / "reached").read_text().splitlines()
        assert end == "end", said
        return set(found)

    def files(self) -> dict[str, str]:
        """What is no turn's to change: by path, with its contents."""
        inside = (*_PROJECTS, ".git/config", "bin/claude", self.places["PROMPT"])
        found = {}
        for name in (*_HIDDEN, *_BELIEVED, ".gitconfig", *(f"place/project/{each}" for each in inside)):
            path = self.home / name
            found[name] = f"{path.stat().st_mode:o} {path.read_text()}" if path.is_file() else "gone"
        folders = [".", "other/project", ".config", ".local/bin", "place"]
        folders += [f"place/project/{each}" for each in (".git/hooks", "bin", ".husky", ".claude", ".vscode")]
        return found | {name: " ".join(sorted({*os.listdir(self.home / name)} - {"ralph"})) for name in folders}


def _attack(name: str, folder: Path, stack: ExitStack, who: Ordinary) -> Attack:
    home = folder / "home of Zoë"
    for each in _HIDDEN:
        _write(home / each, f"{SECRET}\n")
    for each in _BELIEVED:
        _write(home / each, "{}\n")
    _write(home / ".gitconfig", "[user]\nname = Zoë\nemail = zoe@example.org\n")
    _write(folder / "in-tmp", SECRET)
    made = stack.enter_context(project(EXAMPLES[name], home / "place"))
    for each, text in _PROJECTS.items():
        _write(made.path / each, text)
    made.git("config", "core.hooksPath", ".husky")
    made.git("config", "include.path", "../.gitshared")
    configured = f'[sandbox]\nprovider = "bwrap"\nwrite = [{json.dumps(str(made.kept))}]\n'
    base = os.path.dirname(os.path.dirname(who.python))
    configured += f"read = [{json.dumps(base)}]\n"  # the home is another than that of who tests
    _write(home / ".config/ralph-bridge/config.toml", configured)
    made.env |= {"HOME": str(home), "XDG_CONFIG_HOME": "", "HOST_SECRET": SECRET}
    made.env |= {"RALPH_BRIDGE_NOTIFY": "true", "SSH_AUTH_SOCK": str(home / "agent.sock")}
    made.env["GIT_CONFIG_GLOBAL"] = str(home / ".gitconfig")
    words = ["import os, socket, time; s = socket.socket(socket.AF_UNIX); s.bind('agent.sock')"]
    words[0] += "; t = socket.socket(socket.AF_UNIX); t.bind('\\0ralph-' + str(os.getpid())); t.listen()"
    words[0] += "; u = socket.socket(); u.bind(('127.0.0.1', 0)); u.listen(); print(u.getsockname()[1], flush=True)"
    words[0] += "; os.dup2(os.open('.netrc', os.O_RDONLY), 9); time.sleep(600)"
    if who.words:
        made.main = [*who.words, who.python, *MAIN[1:]]
        made.env |= {"PYTHONPATH": who.path, "XDG_STATE_HOME": "", "TMPDIR": str(folder)}
        who.owns(folder)
    victim = stack.enter_context(
        subprocess.Popen(
            [*who.words, who.python, "-c", *words],
            cwd=home, env={**os.environ, "HOST_SECRET": SECRET}, stdout=subprocess.PIPE, text=True,
        )
    )  # fmt: skip
    stack.callback(victim.kill)
    assert victim.stdout is not None
    return Attack(home, made, victim.pid, int(victim.stdout.readline()), who)


@pytest.fixture
def attack_of(tmp_path: Path, stack: ExitStack) -> Callable[[str], Attack]:
    return lambda name: _attack(name, tmp_path, stack, Ordinary((), os.path.realpath(sys.executable), tmp_path))


KINDS = ["plain", "ralph-loop", "frankbria", "bmalph", "snarktank", "wiggum-agent", "pocock", "ralphy"]


@pytest.mark.parametrize("kind", mostly_slow(KINDS, 3))
def test_nothing_gets_out_of_a_box(attack_of: Callable[[str], Attack], kind: str) -> None:
    attack = attack_of(kind)
    before = attack.files()
    reached = attack.reached({**READS, **POWERS, **WRITES, **LOST})
    assert reached - {*LOST} == set()
    assert attack.files() == before
    os.kill(attack.victim, 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "frankbria", "wiggum-agent", "snarktank"])
def test_nothing_gets_out_of_an_ordinary_users_box(ordinary: Ordinary, stack: ExitStack, kind: str) -> None:
    attack = _attack(kind, ordinary.folder, stack, ordinary)
    before = attack.files()
    assert attack.reached({**READS, **POWERS, **WRITES, **LOST}) - {*LOST} == set()
    assert attack.files() == before
    os.kill(attack.victim, 0)


def test_without_a_box_the_same_attempts_get_through(attack_of: Callable[[str], Attack]) -> None:
    _all_get_through(attack_of("plain"))


@pytest.mark.slow
def test_without_a_box_an_ordinary_users_attempts_get_through(ordinary: Ordinary, stack: ExitStack) -> None:
    _all_get_through(_attack("plain", ordinary.folder, stack, ordinary))


def _all_get_through(attack: Attack) -> None:
    env = attack.made.environment() | attack.places
    env["RALPH_BRIDGE_NOTIFY"] = "true"
    copy, home = attack.home.parent / "copy/home", str(attack.home)
    refused = set()
    for name, code in {**READS, **WRITES, **LOST}.items():
        if name not in READS:
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(attack.home, copy, ignore=lambda _, names: {*names} & {"agent.sock", "up", "go"})
            attack.who.owns(copy.parent)
            home = str(copy)
        words = [*attack.who.words, "timeout", "5", "bash", "-c", code]
        folder = f"{home}/place/project"
        ran = subprocess.run(words, cwd=folder, env={**env, "HOME": home}, capture_output=True, check=False)
        if ran.returncode:
            refused.add(name)
    assert refused == set()


PLANTS = {
    ".envrc": "echo : > .envrc",
    ".mcp.json": "echo '{}' > .mcp.json",
    ".claude/settings.json": "mkdir -p .claude; echo '{}' > .claude/settings.json",
    ".claude as a link": "mkdir mine; echo '{}' > mine/settings.json; ln -s mine .claude",
    ".vscode/tasks.json": "mkdir .vscode; echo '{}' > .vscode/tasks.json",
    "commondir": "mkdir .git/evil; echo evil > .git/commondir",
    "config.worktree": "echo '[core] fsmonitor = true' > .git/config.worktree",
    "a driver": "mkdir -p .ralph/drivers; echo 'touch ../ran' > .ralph/drivers/claude-code.sh",
    "settings of the loop": "echo SANDBOX_PROVIDER=none > .ralphrc",
    "a new folder of PATH": "mkdir -p tools; echo 'touch ../ran' > tools/git; chmod +x tools/git",
}
_PLANTED = (
    *(
        ".envrc",
        ".mcp.json",
        ".claude/settings.json",
        ".vscode/tasks.json",
        ".git/commondir",
        ".git/config.worktree",
    ),
    *(".ralph/drivers/claude-code.sh", ".ralphrc", "tools/git"),
)


def test_what_is_planted_where_nothing_was_is_not_there_behind_the_turn(attack_of: Callable[[str], Attack]) -> None:
    attack = attack_of("plain")
    for each in (".claude", ".vscode"):
        shutil.rmtree(attack.made.path / each)
    for each in (".envrc", ".mcp.json"):
        (attack.made.path / each).unlink()
    attack.made.env["PATH"] = f"{attack.made.path}/bin:{attack.made.path}/tools:{os.environ['PATH']}"
    assert attack.reached(PLANTS)
    assert not [each for each in _PLANTED if os.path.lexists(attack.made.path / each)]
    assert "undone" in attack.made.logged()
    attack.turn(": second run", "--max-iterations", "1")
    assert not (attack.made.path.parent / "ran").exists()


_ASIDE = json.dumps({"pid": 1, "started": "", "boot": "", "task": "", "away": {".envrc": "file"}, "unwatched": []})


@pytest.mark.parametrize("kind", mostly_slow(KINDS, 1))
def test_no_turn_has_a_file_of_its_own_put_back_as_the_users(attack_of: Callable[[str], Attack], kind: str) -> None:
    """Whatever loop it belongs to, the next one and `reset` believe what says which files are aside."""
    attack = attack_of(kind)
    forge = f"mkdir -p $each/users; echo evil > $each/users/.envrc; echo {shlex.quote(_ASIDE)} > $each/aside.json"
    folders = [f"{os.path.relpath(each, attack.made.path)}/{FOLDER}" for each in state_folders(attack.made.path)]
    attack.turn(f"for each in {' '.join(folders)}; do {forge}; done 2> /dev/null; :")
    attack.made.run("reset")
    assert (attack.made.path / ".envrc").read_text() == _PROJECTS[".envrc"]


@pytest.mark.parametrize("name", ["bwrap", "env", "git", "bash"])
def test_no_program_of_the_box_comes_from_the_project(attack_of: Callable[[str], Attack], name: str) -> None:
    """Not even one that lay there before."""
    attack = attack_of("plain")
    attack.made.write(f"bin/{name}", f'#!/bin/sh\ntouch "{attack.home}/{name}-ran"\nexit 1\n')
    if name in ("git", "bash"):  # the loop itself takes them where PATH leads: here, what the box is made with
        env = attack.made.environment()
        box = Box(attack.made.path, Wishes(provider="bwrap"))
        box.require(env)
        box.command([str(attack.made.path / "bin/claude")], env)
    else:
        attack.turn(":")
    assert not (attack.home / f"{name}-ran").exists()


def test_without_network_not_even_this_machine_is_reached(attack_of: Callable[[str], Attack]) -> None:
    attack = attack_of("plain")
    abstract = f"$PYTHON -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0ralph-{attack.victim}\")'"
    tries = {"loopback": f": < /dev/tcp/127.0.0.1/{attack.port}", "abstract socket": abstract}
    assert attack.reached(tries, "--sandbox-network", "on") == {*tries}
    assert attack.reached(tries, "--sandbox-network", "off") == set()


def test_a_project_cannot_switch_its_box_off(attack_of: Callable[[str], Attack]) -> None:
    attack = attack_of("frankbria")
    widened = f"export PATH='{attack.home}/.ssh:{attack.home}:{attack.made.environment()['PATH']}'"
    lines = ("export RALPH_BRIDGE_SANDBOX=none", "export XDG_CONFIG_HOME=.config", widened)
    _write(attack.made.path / ".ralphrc", "\n".join(lines) + "\n")
    _write(attack.made.path / ".envrc", "export RALPH_BRIDGE_SANDBOX=none\n")
    _write(attack.made.path / ".config/ralph-bridge/config.toml", '[sandbox]\nprovider = "none"\n')
    assert attack.reached(READS) == set()
    attack.made.install(attack.made.example)
    _write(attack.made.path / ".ralphrc", "SANDBOX_PROVIDER=none\n")
    assert attack.reached(READS, "--sandbox", "bwrap") == set()


def test_processes_that_a_turn_leaves_end_with_it(attack_of: Callable[[str], Attack]) -> None:
    attack = attack_of("plain")
    attack.turn('leave; (setsid bash -c "exec -a left-in-box sleep 600" < /dev/null &> /dev/null &)')
    assert not [each for each in psutil.process_iter() if "left-in-box" in _words(each)]


def _words(process: psutil.Process) -> list[str]:
    try:
        return [*process.cmdline()]
    except psutil.Error:
        return []


def test_a_turn_is_bounded(attack_of: Callable[[str], Attack]) -> None:
    attack = attack_of("plain")
    path = attack.home / ".config/ralph-bridge/config.toml"
    path.write_text(path.read_text() + "memory_mb = 256\n")
    assert attack.reached({"memory": "$PYTHON -c 'bytearray(400_000_000)'"}) == set()
    assert attack.reached({"memory": "$PYTHON -c 'bytearray(40_000_000)'"}) == {"memory"}


def test_a_link_in_a_folder_that_is_let_in_leads_nowhere(attack_of: Callable[[str], Attack]) -> None:
    attack = attack_of("plain")
    shared = attack.home / "shared"
    shared.mkdir()
    (shared / "out").symlink_to(attack.home / ".ssh")
    into = "~/shared/out"
    tries = {"read": f"cat {into}/id_ed25519", "write": f"echo > {into}/new", "own": "echo > ~/shared/x"}
    assert attack.reached(tries, "--sandbox-write", str(shared)) == {"own"}
    assert sorted(os.listdir(attack.home / ".ssh")) == ["id_ed25519"]


@pytest.mark.parametrize("provider", ["bwrap", "srt"])
def test_a_work_tree_is_not_written_from_another(attack_of: Callable[[str], Attack], provider: Provider) -> None:
    attack, wanted = attack_of("plain"), Wishes(provider=provider, network="off")
    if probe(wanted, os.environ) is not None:
        pytest.skip(f"{provider}: {NO_PROVIDER}")
    made = attack.made
    for name in ("one", "two"):
        made.git("worktree", "add", "-q", f"../{name}")
    git, other = made.path / ".git", made.path.parent / "two"
    tries = {
        "another's files": f'echo > "{other}/x"',
        "another's index": f'echo > "{git}/worktrees/two/index"',
        "another's commondir": f'echo > "{git}/worktrees/two/commondir"',
        "the main one's index": f'echo > "{git}/index"',
        "the main one's HEAD": f'echo > "{git}/HEAD"',
        "hooks": f'echo > "{git}/hooks/post-merge"',
        "configuration": f'echo > "{git}/config"',
        "own .git": "echo gitdir: /evil > .git",
        "own .git in its place": "rm -f .git && mkdir .git",
        "a commit": "echo x > x && git add x && git commit -qm one",
    }

    def state() -> dict[str, bytes]:
        paths = (*git.rglob("*"), *other.rglob("*"), made.path.parent / "one/.git")
        own = ("objects", "logs", "one", "refs/heads/one")
        return {
            str(each): each.read_bytes()
            for each in paths
            if each.is_file() and not any(f"/{name}" in str(each).removeprefix(str(git)) for name in own)
        }

    before = state()
    script = "".join(f'(eval {shlex.quote(code)}) 2>/dev/null && echo "{name}"\n' for name, code in tries.items())
    box = Box(made.path.parent / "one", wanted)
    env = {**made.environment(), "PATH": f"{made.environment()['PATH']}:{os.environ['PATH']}"}
    with box.around([shutil.which("bash") or "", "-c", script], env, ()) as (argv, within):
        ran = ask(argv, cwd=box.project, env=within, patience=30)
    assert "a commit" in ran.text.splitlines(), ran.err
    assert state() == before
    assert made.git("log", "--format=%an", "-1", "one") == "Zoë\n"


def test_in_a_part_of_a_repository_all_of_it_is_seen_and_that_part_is_committed(tmp_path: Path) -> None:
    top, home = tmp_path / "home/r", tmp_path / "home"
    _write(home / ".gitconfig", "[user]\nname = Zoë\nemail = zoe@example.org\n")
    for name in ("above.txt", "lib/code", "part/own", "part/deep/x", ".envrc"):
        _write(top / name, "first\n")
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=top, env=env, check=True)
    tries = {
        "all are seen": 'test -z "$(git status --porcelain)" && grep -q first ../lib/code',
        "all of it committed": "echo x > own; git commit -qam x",
        "all of it added": "echo y > y; git add -A :/; git commit -qm y",
        "above": "echo z > ../above.txt",
        "beside": "echo z > ../new",
        "another's setting": "echo z >> ../.envrc",
    }
    script = "".join(f'(eval {shlex.quote(code)}) 2>/dev/null && echo "{name}"\n' for name, code in tries.items())

    def done(wanted: Wishes) -> set[str]:
        box = Box(top / "part", wanted)
        with box.around([shutil.which("bash") or "", "-c", script], env, ()) as (argv, within):
            ran = ask(argv, cwd=top / "part", env=within, patience=30)
        return {*ran.text.splitlines()}

    assert done(Wishes(provider="bwrap")) == {*list(tries)[:3]}
    changed = ["git", "diff", "--name-status", "HEAD~2", "HEAD"]
    shown = subprocess.run(changed, cwd=top, env=env, check=True, capture_output=True, text=True).stdout
    assert shown == "M\tpart/own\nA\tpart/y\n"
    assert done(Wishes(provider="bwrap", write=(str(top),))) >= {"above", "beside"}
    assert (top / ".envrc").read_text() == "first\n"
    subprocess.run(["git", "init", "-q"], cwd=home, env=env, check=True)
    shutil.rmtree(top / ".git")
    assert not done(Wishes(provider="bwrap")) & {*list(tries)[:3]}  # a repository that is the home isn't let in


# -- what an honest one must be able to do ----------------------------------------------------------------

HONEST = {
    "a commit": "echo x > x; git add x; git commit -qm x; git log -1 --format=%ae | grep -qx zoe@example.org",
    "a branch": "git switch -qc other; git switch -q -",
    "a commit of one who signs": "git -c user.signingKey=x commit -qm s --allow-empty",
    "a merge": "git switch -qc m; echo m > m; git add m; git commit -qm m; git switch -q -; git merge m",
    "a stash": "echo y > y; git add y; git stash -q; git stash pop -q",
    "a work tree of its own": "git worktree add -q /tmp/w && cd /tmp/w && git commit -qm w --allow-empty",
    "garbage": "git gc -q",
    "state by a rename": "echo 1 > ~/.claude/s.tmp && mv ~/.claude/s.tmp ~/.claude/s && grep -q 1 ~/.claude/s",
    "sessions": "mkdir -p ~/.claude/projects/x && echo > ~/.claude/projects/x/y.jsonl",
    "temporary files": "mktemp && mktemp -d && echo > /var/tmp/x",
    "caches in the home": "mkdir -p ~/.cache/x ~/.npm && echo > ~/.cache/x/y",
    "a version manager's program": "node-of-nvm",
    "shared memory": "$PYTHON -c 'import multiprocessing; multiprocessing.Semaphore()'",
    "names": "$PYTHON -c 'import pwd, os; pwd.getpwuid(os.getuid())'",
    "a file with blanks": "echo > 'a  b ü.txt'",
}


@pytest.mark.parametrize("kind", mostly_slow(["plain", "ralph-loop"], 1))
def test_an_honest_turn_works_and_leaves_nothing_beside(attack_of: Callable[[str], Attack], kind: str) -> None:
    attack = attack_of(kind)
    attack.made.git("config", "--unset", "core.hooksPath")
    attack.made.git("config", "commit.gpgSign", "true")
    folder = attack.home / ".nvm/versions/node/v22/bin"
    _write(folder / "node-of-nvm", "#!/bin/sh\n")
    attack.made.env["PATH"] = f"{attack.made.path}/bin:{folder}:{os.environ['PATH']}"
    before = {*os.listdir(attack.home)}
    inside = {*os.listdir(attack.made.path)}
    assert attack.reached(HONEST) == {*HONEST}
    assert {*os.listdir(attack.home)} == before
    assert {*os.listdir(attack.made.path)} - inside - {".ralph"} == {"x", "y", "m", "work.txt", "a  b ü.txt"}


@pytest.mark.slow
def test_an_ordinary_users_honest_turn_works(ordinary: Ordinary, stack: ExitStack) -> None:
    attack = _attack("plain", ordinary.folder, stack, ordinary)
    assert attack.reached(HONEST) == {*HONEST} - {"a version manager's program"}


def test_a_killed_host_leaves_no_turn(attack_of: Callable[[str], Attack]) -> None:
    attack = attack_of("plain")
    attack.made.turns(
        'exec -a hangs-in-box bash -c \'echo x > "$0"; while :; do sleep 1; done\' "$kept/turn.1/hangs"'
    )
    loop = attack.made.hanging()
    running = [each for each in psutil.process_iter() if str(attack.made.kept) in " ".join(_words(each))]
    assert running
    loop.kill()
    until(lambda: not [each for each in running if lives(each.pid)], "all of the box has ended")


@pytest.mark.parametrize(("number", "heard"), [(signal.SIGINT, "INT"), (signal.SIGTERM, "TERM")])
def test_a_signal_reaches_the_cli(attack_of: Callable[[str], Attack], number: signal.Signals, heard: str) -> None:
    attack = attack_of("plain")
    attack.made.env["RALPH_BRIDGE_KILL_GRACE_SECONDS"] = "5"
    others = "trap '' INT;" if heard == "TERM" else ""  # which comes first, whatever ends the loop
    traps = f"{others} trap 'echo x > \"$kept/heard\"; exit 3' {heard}"
    attack.made.turns(f'{traps}; echo x > "$kept/turn.$turn/hangs"; while :; do sleep 0.1; done')
    loop = attack.made.hanging()
    loop.process.send_signal(number)
    assert loop.finished() == 128 + number
    assert (attack.made.kept / "heard").exists()


@pytest.mark.timeout(300)  # bash waits longer and longer for a process that it may have
def test_an_ordinary_users_box_is_closed_and_bounded(ordinary: Ordinary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admitted, "_masked", lambda: ())  # of root alone
    monkeypatch.setattr(cgroup, "place", lambda _name: "")  # likewise
    home, made = ordinary.folder / "home", ordinary.folder / "home/p"
    for each in _HIDDEN:
        _write(home / each, f"{SECRET}\n")
    made.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=made, check=True)
    env = {**os.environ, "HOME": str(home), "PATH": "/usr/bin:/bin:/usr/sbin", "HOST_SECRET": SECRET}
    env["XDG_STATE_HOME"] = ""
    lines = [
        f"(eval {shlex.quote(code)}) &> /dev/null < /dev/null && echo {shlex.quote(name)}"
        for name, code in {**READS, **POWERS}.items()
        if "PYTHON" not in code and "STATE" not in code
    ]
    bomb = "for ((i = 0; i < 300; i++)); do sleep 3 & done 2> /dev/null; ls /proc | grep -c '^[0-9]'"
    script = "\n".join(["export VICTIM=1000000", *lines, "echo > work", bomb])
    box = Box(made, Wishes(provider="bwrap", processes=100))
    ready = box.command(["/bin/bash", "-c", script], env)
    with ready.standing():
        ordinary.owns(ordinary.folder)
        ran = ask([*ordinary.words, *ready.argv], cwd=made, env=ready.env, patience=150)
    assert ran.ok, ran
    *reached, processes = ran.text.splitlines()
    assert reached == []
    assert int(processes) <= 110
    assert (made / "work").exists()
