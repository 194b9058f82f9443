"""With a box nothing that .ralphrc names runs outside of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bridge.loop.sandbox.box_settings import Wishes
from bridge.loop.sandbox.probes import probe
from tests.cli.conftest import Project
from tests.machine import NO_BOX

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(probe(Wishes(provider="bwrap"), os.environ) is not None, reason=NO_BOX)


@pytest.mark.parametrize("line", [
    "CLAUDE_CODE_CMD=./tools/claude", "CLAUDE_CODE_CMD='bash tools/claude'", "PATH=./tools:$PATH",
    "export BASH_ENV=./tools/init.sh", "RALPH_SHELL_INIT_FILE=tools/init.sh",
])  # fmt: skip
def test_what_the_settings_name_runs_in_the_box_alone(tmp_path: Path, line: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    made = Project(tmp_path / "project")
    trap = f"#!/bin/bash\n[ ! -d {outside} ] || touch {outside}/ran\n"
    for name in ("claude", "npm", "init.sh"):
        made.write(f"tools/{name}", trap, 0o755)
    home = tmp_path / "home/bin"
    home.mkdir(parents=True)
    (home / "claude").write_text("#!/bin/bash\necho 2.1.0\n")
    (home / "claude").chmod(0o755)
    for name, text in {"PROMPT.md": "Do it.\n", "fix_plan.md": "- [ ] one\n", "AGENT.md": "x\n"}.items():
        made.write(f".ralph/{name}", text)
    made.write(".ralphrc", f"{line}\n")
    made.repository()
    env = {"HOME": str(home.parent), "PATH": f"{home}:{os.environ['PATH']}"}
    done = made.run("run", "--sandbox", "bwrap", "--max-iterations", "1", **env)
    assert "Loop #1" in done.stdout + done.stderr, done.stderr
    assert not os.listdir(outside), done.stderr


def test_the_agent_cannot_change_the_adapter_that_runs_it_nor_what_its_functions_find(tmp_path: Path) -> None:
    """They run outside of the box."""
    outside = tmp_path / "outside"
    outside.mkdir()
    made = Project(tmp_path / "project")
    home = tmp_path / "home/bin"
    home.mkdir(parents=True)
    (home / "my-cli").write_text(
        "#!/bin/bash\ntouch worked\necho gone > lib/agents/mine.sh\n"
        f"printf '#!/bin/sh\\ntouch {outside}/ran\\n' > tools/jq\nchmod +x tools/jq\necho Did it.\n"
    )
    (home / "my-cli").chmod(0o755)
    adapter = (
        'agent_mine_build_command() { CLAUDE_CMD_ARGS=("my-cli" "$(cat "$1")"); }\n'
        "agent_mine_detect_format() { jq -n 1 >/dev/null 2>&1; echo text; }\n"
        "agent_mine_normalize_response() { return 1; }\nagent_mine_has_capability() { return 1; }\n"
        'AGENT_MINE_CAPABILITIES=""\n'
    )
    files = {"PROMPT.md": "Do it.\n", "fix_plan.md": "- [ ] one\n", "AGENT.md": "x\n"}
    for name, text in files.items():
        made.write(f".ralph/{name}", text)
    made.write("lib/agents/mine.sh", adapter)
    made.write("tools/readme", "x")
    made.write(".ralphrc", "AGENT_PROVIDER=mine\nPATH=./tools:$PATH\nSESSION_CONTINUITY=false\n")
    made.repository()
    env = {"HOME": str(home.parent), "PATH": f"{home}:{os.environ['PATH']}"}
    done = made.run("run", "--sandbox", "bwrap", "--max-iterations", "2", **env)
    assert "Loop #2" in done.stdout + done.stderr, done.stderr
    assert (made.folder / "worked").exists(), done.stderr
    assert (made.folder / "lib/agents/mine.sh").read_text() == adapter
    assert not os.listdir(outside), done.stderr
    assert "mine.sh is none of ours: its functions run outside of the box, with your rights" in done.stderr
