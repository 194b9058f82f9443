"""A stand-in for ``bd`` (Beads 1.0): issues out of a JSON file, with the words, flags and fields of its source.

``python -m tests.tasks.stand_ins.bd STORE WORDS...``; `tests.tasks.stand_ins.trackers.Beads` puts it on a PATH.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tests.tasks.stand_ins.flags import Failed, opened, read_flags

SAID = {
    "workspace": ("Error: no beads database found\nHint: run 'bd init' to create a database in this folder", 1),
    "locked": ("Error: failed to open database: database is locked by another dolt process", 1),
}
GLOBAL = "-C/--directory= --db= --actor= --json --sandbox --readonly -v/--verbose -q/--quiet"
FLAGS = {
    "list": "-s/--status= -a/--assignee= -t/--type= -l/--label=[] --label-any=[] --exclude-label=[] --title= --id="
    " -n/--limit= --all --long --sort= -r/--reverse --title-contains= --desc-contains= --parent= --no-parent"
    " --ready --exclude-type=[] --tree --flat --no-pager -p/--priority=",
    "ready": "-n/--limit= -p/--priority= -a/--assignee= -u/--unassigned -s/--sort= -l/--label=[] --label-any=[]"
    " --exclude-label=[] -t/--type= --parent= --claim --exclude-type=[]",
    "show": "--thread --short --long --refs --children --as-of= --id=[] --local-time -w/--watch --current"
    " --include-dependents --include-comments",
    "update": "-s/--status= -p/--priority= --title= -t/--type= -a/--assignee= -d/--description= --notes="
    " --append-notes= --add-label=[] --remove-label=[] --set-labels=[] --parent= --claim --session=",
    "close": "-r/--reason= --reason-file= -f/--force --continue --no-auto --suggest-next --claim-next --session=",
    "where": "",
    "comments": "--local-time",
    "comments add": "-f/--file= -a/--author=",
}
WHEN = "2026-01-02T03:04:05Z"


def main(path: str, words: list[str]) -> str:
    command = " ".join(words[:2]) if words[:2] == ["comments", "add"] else words[0] if words else ""
    if command not in FLAGS:
        raise Failed(f'Error: unknown command "{command}" for "bd"')
    flags, rest = read_flags(words[len(command.split()) :], f"{FLAGS[command]} {GLOBAL}", f"bd {command}")
    with opened(path, words, SAID) as store:
        does = {
            "list": _list,
            "ready": _ready,
            "show": _show,
            "update": _update,
            "close": _close,
            "where": _where,
            "comments": _comments,
            "comments add": _comment,
        }[command]
        return does(store, flags, rest)


def _told(flags: dict[str, Any], message: str) -> Failed:
    """An error of most commands; with ``--json`` it stands on stdout."""
    if "--json" in flags:
        sys.stdout.write(_json({"error": message, "schema_version": 1}))
        return Failed("")
    return Failed(f"Error: {message}")


def _json(value: Any) -> str:
    if os.environ.get("BD_JSON_ENVELOPE") == "1":
        value = {"schema_version": 1, "data": value}
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _blockers(store: dict[str, Any], issue: dict[str, Any]) -> list[str]:
    issues = store["issues"]
    needs = [need for need, kind in issue["needs"].items() if kind == "blocks"]
    return [need for need in needs if need in issues and issues[need]["status"] != "closed"]


def _row(store: dict[str, Any], issue: dict[str, Any]) -> dict[str, Any]:
    row = {key: issue[key] for key in ("id", "title", "status", "priority", "issue_type")}
    row |= {key: issue[key] for key in _OPTIONAL if issue[key]}
    row |= {"created_at": WHEN, "updated_at": WHEN}
    if issue["needs"]:
        row["dependencies"] = [
            {
                "issue_id": issue["id"],
                "depends_on_id": need,
                "type": kind,
                "created_at": WHEN,
                "created_by": "dev",
                "metadata": "{}",
            }
            for need, kind in issue["needs"].items()
        ]
    dependents = sum(issue["id"] in each["needs"] for each in store["issues"].values())
    counts = {"dependency_count": len(issue["needs"]), "dependent_count": dependents}
    return row | counts | {"comment_count": len(issue["comments"])}


_OPTIONAL = ("description", "design", "acceptance_criteria", "notes", "assignee", "labels", "close_reason")


def _list(store: dict[str, Any], flags: dict[str, Any], rest: list[str]) -> str:
    del rest
    statuses = set(flags["--status"].split(",")) if "--status" in flags else None
    limit = int(flags.get("--limit", 50))
    found = [
        each
        for each in store["issues"].values()
        if (
            each["status"] in statuses
            if statuses is not None
            else "--all" in flags or each["status"] not in ("closed", "pinned")
        )
        and set(flags.get("--label", ())) <= set(each["labels"])
        and flags.get("--assignee", each["assignee"]) == each["assignee"]
        and flags.get("--title", "").lower() in each["title"].lower()
        and flags.get("--id", each["id"]).find(each["id"]) >= 0
        and not ("--ready" in flags and (each["status"] != "open" or _blockers(store, each)))
    ]
    found.sort(key=lambda each: (each["priority"], each["id"]))
    shown = found[:limit] if limit else found
    if len(shown) < len(found):
        told = f"Showing {limit} issues; more results matched but were hidden by --limit."
        print(f"\n{told} Use --limit 0 for all, or --limit N to raise the cap.", file=sys.stderr)
    if "--json" in flags:
        return _json([_row(store, each) for each in shown])
    return "".join(f"○ {each['id']} [● P{each['priority']}] {each['title']}\n" for each in shown)


def _ready(store: dict[str, Any], flags: dict[str, Any], rest: list[str]) -> str:
    return _list(store, {"--limit": "100", **flags, "--ready": True}, rest)


def _where(store: dict[str, Any], flags: dict[str, Any], rest: list[str]) -> str:
    del flags, rest
    return _json({"path": os.path.abspath(".beads"), "prefix": "bd", "schema_version": 1, **store.get("where", {})})


def _found(store: dict[str, Any], flags: dict[str, Any], rest: list[str]) -> dict[str, Any]:
    if not rest:
        raise _told(flags, "no issue ID provided and no last touched issue")
    if rest[0] not in store["issues"]:
        raise _told(flags, f'resolving ID {rest[0]}: no issue found matching "{rest[0]}"')
    issue: dict[str, Any] = store["issues"][rest[0]]
    return issue


def _show(store: dict[str, Any], flags: dict[str, Any], rest: list[str]) -> str:
    issue = _found(store, flags, [*rest, *flags.get("--id", ())])
    row = _row(store, issue)
    row["dependencies"] = [
        {
            **{key: store["issues"][need][key] for key in ("id", "title", "status", "priority")},
            "dependency_type": kind,
        }
        for need, kind in issue["needs"].items()
        if need in store["issues"]
    ]
    if "--include-comments" in flags:
        row["comments"] = issue["comments"]
    return _json([row]) if "--json" in flags else f"{issue['id']} · {issue['title']}\n{issue['description']}\n"


def _update(store: dict[str, Any], flags: dict[str, Any], rest: list[str]) -> str:
    issue = _found(store, flags, rest)
    status = flags.get("--status", issue["status"])
    if status not in ("open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked"):
        raise _told(flags, f'invalid status "{status}"')
    issue["status"] = status
    return _json([_row(store, issue)]) if "--json" in flags else f"✓ Updated issue: {issue['id']}\n"


def _close(store: dict[str, Any], flags: dict[str, Any], rest: list[str]) -> str:
    issue = _found(store, flags, rest)
    if "--force" not in flags and (blockers := _blockers(store, issue)):
        told = f"blocked by open issues [{' '.join(blockers)}] (use --force to override)"
        raise Failed(f"cannot close {issue['id']}: {told}")
    issue["status"], issue["close_reason"] = "closed", flags.get("--reason", "Closed")
    closed = f"✓ Closed {issue['id']}: {issue['close_reason']}\n"
    return _json([_row(store, issue)]) if "--json" in flags else closed


def _comments(store: dict[str, Any], flags: dict[str, Any], rest: list[str]) -> str:
    comments = _found(store, flags, rest)["comments"]
    return _json(comments) if "--json" in flags else "".join(f"[{each['author']}]\n" for each in comments)


def _comment(store: dict[str, Any], flags: dict[str, Any], rest: list[str]) -> str:
    issue = _found(store, flags, rest)
    if "--file" in flags:
        with open(flags["--file"]) as file:
            text = file.read()
    elif len(rest) < 2:
        raise _told(flags, "comment text required (use -f to read from file)")
    else:
        text = rest[1]
    if not text.strip():
        raise _told(flags, "comment text cannot be empty")
    comment = {
        "id": f"c{len(issue['comments'])}",
        "issue_id": issue["id"],
        "author": "dev",
        "text": text,
        "created_at": WHEN,
    }
    issue["comments"].append(comment)
    return _json({**comment, "schema_version": 1}) if "--json" in flags else f"Comment added to {issue['id']}\n"


if __name__ == "__main__":
    try:
        sys.stdout.buffer.write(main(sys.argv[1], sys.argv[2:]).encode("utf-8", "surrogatepass"))
        sys.stdout.flush()
    except Failed as error:
        sys.stdout.flush()
        if str(error):
            print(error, file=sys.stderr)
        os._exit(error.status)
