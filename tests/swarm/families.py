"""Setups whose controller gives a prompt to a CLI, for swarms; and an agent that does what such prompts ask."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.swarm.projects import Project

AGENT = r"""#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys

if "--version" in sys.argv:
    sys.exit(print("2.1.9 (Claude Code)"))
asked = sys.stdin.read() if "-p" not in sys.argv[:-1] else sys.argv[sys.argv.index("-p") + 1]
notes, task = pathlib.Path(os.environ["NOTES"]), os.environ["RALPH_TASK"]
(notes / f"asked.{task}").write_text(asked)
with (notes / "started").open("a") as file:
    file.write(f"{task} {os.getpid()}\n")
git = lambda *words: subprocess.run(["git", *words], check=True, stdout=subprocess.DEVNULL)
home = pathlib.Path("scripts/ralph")
said = "Done."
if home.is_dir():
    prd = json.loads((home / "prd.json").read_text("utf-8-sig"))
    if branch := prd.get("branchName"):
        git("checkout", "-q", "-B", branch)
    stories = prd["userStories"]
    story = min((each for each in stories if not each["passes"]), key=lambda each: each["priority"])
    subprocess.run(["bash", "-c", story.get("notes") or ":"], check=True)
    story["passes"] = True
    (home / "prd.json").write_text(json.dumps(prd, indent=2))
    with (home / "progress.txt").open("a") as file:
        file.write(f"## {story['id']}\n- what was learnt\n---\n")
    if all(each["passes"] for each in stories):
        said = "<promise>COMPLETE</promise>"
else:
    commands = [line for line in asked.splitlines() if line.startswith("run: ")]
    subprocess.run(["bash", "-c", commands[-1][5:]], check=True)
    with open("progress.txt", "a") as file:
        file.write(f"did {task}\n")
    said = "<promise>COMPLETE</promise>"
git("add", "-A")
git("commit", "-qm", f"feat: {task}")
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": said, "session_id": "s-1"}))
"""
SCRIPT = """#!/bin/bash
set -e
SCRIPT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
for i in $(seq 1 10); do
  claude --dangerously-skip-permissions --print < "$SCRIPT_DIR/CLAUDE.md"
done
"""


def prd(*stories: dict[str, Any]) -> str:
    """Stories with the formatting of somebody who writes by hand: tabs, one story per line, another on several."""
    lines = [json.dumps(each, ensure_ascii=False) for each in stories]
    lines[0] = lines[0].replace(', "', ',\n\t\t\t"')
    listed = ",\n\t\t".join(lines)
    return f'{{\n\t"project" : "Täst",   "branchName": "ralph/feature",\n\t"userStories": [\n\t\t{listed} ]\n}}'


def story(number: int, notes: str = "", priority: int | None = None, **more: Any) -> dict[str, Any]:
    given = {"id": f"US-{number}", "title": f"Story {number}", "acceptanceCriteria": ["it works"]}
    return given | {"priority": priority or number, "passes": False, "notes": notes} | more


def snarktank(project: Project, *stories: dict[str, Any], progress: str | None = "# Log\n---\n") -> str:
    """Make it such a setup; gives the text of its stories."""
    agent(project)
    project.write("scripts/ralph/ralph.sh", SCRIPT, 0o755)
    project.write("scripts/ralph/CLAUDE.md", "Read prd.json. Do the next story.\n")
    text = prd(*stories)
    project.write("scripts/ralph/prd.json", text)
    if progress is not None:
        project.write("scripts/ralph/progress.txt", progress)
    project.commit("a setup")
    return text


def agent(project: Project) -> None:
    """Its CLI; nothing of the plain setup stays."""
    project.git("rm", "-rq", ".ralph")
    project.write("../bin/claude", AGENT, 0o755)
    del project.env["PLATFORM_DRIVER"]
