"""A fresh home with the shape of an installation: the nine commands, and scripts that say who they are."""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = {
    "ralph": "ralph_loop.sh",
    "ralph-monitor": "ralph_monitor.sh",
    "ralph-stats": "ralph-stats.sh",
    "ralph-queue": "ralph_queue.sh",
    "ralph-setup": "setup.sh",
    "ralph-enable": "ralph_enable.sh",
    "ralph-enable-ci": "ralph_enable_ci.sh",
    "ralph-import": "ralph_import.sh",
    "ralph-migrate": "migrate_to_ralph_folder.sh",
}
COMMAND = '#!/bin/bash\nRALPH_HOME="$HOME/.ralph"\nexec "$RALPH_HOME/{script}" "$@"\n'
# What it was given goes to a file beside it, NUL-separated: arguments, folder, all of the environment, stdin.
SCRIPT = """\
#!/bin/bash
# {version}
printf '%s\\0' "$@" > "$HOME/.ralph/said.argv"
pwd > "$HOME/.ralph/said.cwd"
env -0 > "$HOME/.ralph/said.env"
cat > "$HOME/.ralph/said.stdin"
echo "{script} {version}"
exit 7
"""


@dataclass
class Home:
    """A user's home folder, with projects in it."""

    path: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def command(self) -> Path:
        return self.path / ".local/bin/ralph"

    @property
    def installed(self) -> Path:
        return self.path / ".ralph"

    def install(self, version: str = "first") -> None:
        """As ``install.sh`` does: every file is opened and written over."""
        for folder in (self.command.parent, self.installed / "lib", self.installed / "templates/specs"):
            folder.mkdir(parents=True, exist_ok=True)
        for name, script in COMMANDS.items():
            self._put(self.command.with_name(name), COMMAND.format(script=script))
            self._put(self.installed / script, SCRIPT.format(script=script, version=version))
        self._put(self.installed / "lib/date_utils.sh", "# nothing\n")
        (self.installed / "templates/PROMPT.md").write_text("Do the next task.\n")

    def uninstall(self) -> None:
        """As ``install.sh uninstall`` does."""
        for name in COMMANDS:
            self.command.with_name(name).unlink(missing_ok=True)
        subprocess.run(["rm", "-rf", self.installed], check=True)

    def project(self, name: str, *, git: bool = True) -> Path:
        """What ``ralph-setup`` leaves, as far as it matters."""
        path = self.path / name
        for folder in (".ralph/specs", ".ralph/logs", ".ralph/docs/generated", "src"):
            (path / folder).mkdir(parents=True)
        (path / ".ralph/PROMPT.md").write_text("Do the next task of the plan.\n")
        (path / ".ralph/fix_plan.md").write_text("# Plan\n\n- [ ] one\n- [ ] two\n")
        (path / ".ralph/AGENT.md").write_text("# Build\n")
        (path / ".ralphrc").write_text(SETTINGS)
        (path / ".gitignore").write_text(IGNORED)
        if git:
            for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "first"]):
                subprocess.run(["git", *IDENTITY, *words], cwd=path, env=self.environment(), check=True)
        return path

    def environment(self, **more: str) -> dict[str, str]:
        """A login's: nothing of the machine that runs the tests but PATH."""
        return {
            "HOME": str(self.path),
            "PATH": f"{self.command.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            **self.env,
            **more,
        }

    def _put(self, path: Path, text: str) -> None:
        with open(path, "w") as file:  # through whatever is there, as `cat >` does
            file.write(text)
        path.chmod(0o755)


IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.org")
SETTINGS = """\
# What ralph-setup and ralph-enable write
PROJECT_NAME="mine"
PROJECT_TYPE="unknown"
CLAUDE_CODE_CMD="claude"
MAX_CALLS_PER_HOUR=100
CLAUDE_TIMEOUT_MINUTES=15
CLAUDE_OUTPUT_FORMAT="json"
ALLOWED_TOOLS="Write,Read,Edit,Bash(git *),Bash(npm *),Bash(pytest)"
SESSION_CONTINUITY=true
SESSION_EXPIRY_HOURS=24
TASK_SOURCES="local"
GITHUB_TASK_LABEL="ralph-task"
BEADS_FILTER="status:open"
CB_NO_PROGRESS_THRESHOLD=3
CB_SAME_ERROR_THRESHOLD=5
CB_OUTPUT_DECLINE_THRESHOLD=70
CLAUDE_AUTO_UPDATE=true
"""
IGNORED = """\
.ralph/.call_count
.ralph/.last_reset
.ralph/.exit_signals
.ralph/status.json
.ralph/.ralph_session
.ralph/.ralph_session_history
.ralph/.claude_session_id
.ralph/.response_analysis
.ralph/.circuit_breaker_state
.ralph/.circuit_breaker_history
.ralph/logs/*
.ralph/docs/generated/*
*.log
*.tmp
"""
"""What the template names, and no more (F14)."""


def fingerprint(*roots: Path) -> dict[str, tuple[object, ...]]:
    """Everything of files that someone could notice: contents, modes, links, times."""
    found: dict[str, tuple[object, ...]] = {}
    for root in roots:
        for path in [root, *root.rglob("*")] if root.is_dir() and not root.is_symlink() else [root]:
            seen = path.lstat()
            if path.is_symlink():
                found[str(path)] = ("link", os.readlink(path))
            elif path.is_dir():
                found[str(path)] = ("folder", seen.st_mode)
            else:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found[str(path)] = (digest, seen.st_mode, seen.st_mtime_ns)
    return found
