"""Setups whose controller gives a prompt to a CLI, for swarms; and an agent that does what such prompts ask."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.swarm.projects import Project

# The words behind the last `run: ` of what it is told are what it does, as bash.
AGENT = r"""#!/usr/bin/env python3
import json, os, pathlib, re, subprocess, sys

def main():
    if "--version" in sys.argv:
        return print("2.1.9 (Claude Code)")
    asked = "\n".join([*sys.argv[1:], sys.stdin.read()])
    notes, task = pathlib.Path(os.environ["NOTES"]), os.environ["RALPH_TASK"]
    with (notes / "started").open("a") as file:
        file.write(f"{task} {os.getpid()}\n")
    (notes / f"asked.{task}").write_text(asked)
    for name in ("PRD.md", "IMPLEMENTATION_PLAN.md", "plans/prd.json"):
        if os.path.exists(name):
            (notes / f"plan.{task}").write_text(pathlib.Path(name).read_text())
    home = pathlib.Path(os.environ.get("HOME_OF_SETUP", "."))
    if (home / "ralph.sh").exists():
        stories = home / "prd.json"
        prd = json.loads(stories.read_text())
        if branch := prd.get("branchName"):
            git("checkout", "-q", "-B", branch)
        story = min((each for each in prd["userStories"] if not each["passes"]), key=lambda each: each["priority"])
        run(story["notes"] or story["description"])
        story["passes"] = True
        stories.write_text(json.dumps(prd, indent=2))
        (home / ".last-branch").write_text(f"{task}\n")
    else:
        run(asked)
    plan = home / "IMPLEMENTATION_PLAN.md"
    with (plan if plan.exists() else home / "progress.txt").open("a") as file:
        file.write(f"## {task}\n- what was learnt\n---\n")
    git("add", "-A")
    git("commit", "-qm", f"feat: {task}")
    said = {"is_error": False, "result": "Done: <promise>COMPLETE</promise>", "session_id": "s"}
    print(json.dumps({"type": "result", "subtype": "success", **said}))

def run(words):
    subprocess.run(["bash", "-c", re.findall("run: (.*)", words)[-1]], check=True)

def git(*words):
    subprocess.run(["git", *words], check=True, stdout=subprocess.DEVNULL)

main()
"""
SNARKTANK = """#!/bin/bash
SCRIPT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
LOG="$SCRIPT_DIR/progress.txt"
[ -f "$LOG" ] || printf '# Ralph Progress Log\\nStarted: %s\\n---\\n' "$(date)" > "$LOG"
for i in $(seq 1 10); do
  claude --dangerously-skip-permissions --print < "$SCRIPT_DIR/CLAUDE.md"
done
"""
POCOCK = """#!/bin/bash
for ((i = 1; i <= $1; i++)); do
  claude --permission-mode acceptEdits -p "@PRD.md @progress.txt Turn $i: pick a task of the list."
done
"""
PLAYBOOK = """#!/bin/bash
while true; do
  cat {}PROMPT_build.md | claude -p --dangerously-skip-permissions --output-format=stream-json --model opus
  git push origin "$(git branch --show-current)"
done
"""
BOTH = "until [ $(wc -l < $NOTES/started) -ge 2 ]; do sleep 0.02; done"
"""What an agent does until two have begun."""


def make(project: Project, **files: str) -> None:
    """Make it a setup of these files, with that agent as its CLI."""
    project.git("rm", "-rq", ".ralph")
    project.write("../bin/claude", AGENT, 0o755)
    project.write(".gitignore", "")
    project.env.pop("PLATFORM_DRIVER", None)
    for name, text in files.items():
        project.write(name, text, 0o755 if text.startswith("#!") else 0o644)
    project.commit("a setup")


def story(number: int, words: str, priority: int | None = None, **more: Any) -> dict[str, Any]:
    given = {
        "id": f"US-{number}",
        "title": f"Story {number}",
        "description": "",
        "acceptanceCriteria": ["it works"],
    }
    return given | {"priority": priority or number, "passes": False, "notes": f"run: {words}"} | more


def prd(*stories: dict[str, Any]) -> str:
    """Stories with the formatting of somebody who writes by hand: tabs, one on several lines, others on one."""
    lines = [json.dumps(each, ensure_ascii=False) for each in stories]
    lines[0] = lines[0].replace(', "', ',\n\t\t\t"')
    listed = ",\n\t\t".join(lines)
    return f'{{\n\t"project" : "Täst",   "branchName": "ralph/feature",\n\t"userStories": [\n\t\t{listed} ]\n}}'


def snarktank(project: Project, *stories: dict[str, Any], home: str = "scripts/ralph/", **more: str) -> str:
    """Make it a setup with these stories; gives their text."""
    text = prd(*stories)
    files = {"ralph.sh": SNARKTANK, "CLAUDE.md": "Read prd.json. Do the next story.\n", "prd.json": text} | more
    project.env["HOME_OF_SETUP"] = home
    make(project, **{f"{home}{name}": words for name, words in files.items()})
    return text
