"""What the stand-in for ``gh`` knows of pull requests: checks that run on what is pushed, reviews, merges in the
bare repository; in the words, flags and fields of gh."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.tasks.stand_ins.flags import Failed

BUCKETS = {"SUCCESS": "pass", "SKIPPED": "skipping", "NEUTRAL": "skipping", "CANCELLED": "cancel"}
BUCKETS |= dict.fromkeys(("FAILURE", "ERROR", "TIMED_OUT", "ACTION_REQUIRED"), "fail")


def git(entry: dict[str, Any], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", entry["remote"], *words], capture_output=True, text=True, check=False)


def tip(entry: dict[str, Any], branch: str) -> str:
    return git(entry, "rev-parse", "--verify", "-q", f"refs/heads/{branch}").stdout.strip()


def _ran(repository: dict[str, Any], entry: dict[str, Any], *, look: bool) -> list[dict[str, Any]]:
    """The checks of what a pull request proposes; `look`: counts as one."""
    head, found = tip(entry, entry["headRefName"]), []
    for place, each in enumerate(repository["ci"]):
        seen = entry.setdefault("looks", {})
        key = f"{each['name']} {head}"
        if look:
            seen[key] = seen.get(key, 0) + 1
        if each.get("unstarted", 0) >= seen.get(key, 0):
            continue
        words, env = ["bash", "-c", each["command"]], {**os.environ, "HEAD": head}
        done = subprocess.run(words, cwd=entry["remote"], env=env, capture_output=True, check=False)
        state = each.get("state") or ("FAILURE" if done.returncode else "SUCCESS")
        if seen.get(key, 0) <= each["looks"]:
            state = "IN_PROGRESS"
        job = entry["number"] * 100 + place
        link = each.get("link", f"https://github.com/acme/app/actions/runs/{entry['number']}/job/{job}")
        found.append({
            "name": each["name"], "state": state, "bucket": BUCKETS.get(state, "pending"), "link": link, "job": job,
            "workflow": "CI", "description": "", "event": "pull_request", "required": each["required"],
            "startedAt": "2026-01-02T03:04:05Z", "completedAt": "2026-01-02T03:05:05Z", "log": done.stdout,
        })  # fmt: skip
    return found


def standing(repository: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``pr view`` that say how it stands."""
    stances = {each["login"]: each["state"] for each in entry.get("reviews", ()) if each["state"] != "COMMENTED"}
    decision = ""
    if "CHANGES_REQUESTED" in stances.values():
        decision = "CHANGES_REQUESTED"
    elif repository["reviewed"]:
        decision = "APPROVED" if "APPROVED" in stances.values() else "REVIEW_REQUIRED"
    ran = _ran(repository, entry, look=False) if entry.get("remote") else []
    conflicts = behind = False
    if entry.get("remote") and entry["state"] == "OPEN":
        base, head = tip(entry, entry["baseRefName"]), tip(entry, entry["headRefName"])
        conflicts = git(entry, "merge-tree", "--write-tree", base, head).returncode != 0
        behind = repository["strict"] and git(entry, "merge-base", "--is-ancestor", base, head).returncode != 0
    blocked = repository.get("protected") or decision in ("REVIEW_REQUIRED", "CHANGES_REQUESTED")
    blocked = blocked or any(each["required"] and each["bucket"] not in ("pass", "skipping") for each in ran)
    status = "DIRTY" if conflicts else "BLOCKED" if blocked else "BEHIND" if behind else "CLEAN"
    return {
        "mergeable": "CONFLICTING" if conflicts else "MERGEABLE",
        "mergeStateStatus": status,
        "reviewDecision": decision,
        "reviewRequests": [{"__typename": "User", "login": each} for each in entry.get("requested", ())],
        "reviews": [
            {
                "id": each["id"],
                "author": {"login": each["login"]},
                "authorAssociation": each["role"],
                "body": each["body"],
                "submittedAt": "2026-01-02T03:04:05Z",
                "includesCreatedEdit": False,
                "reactionGroups": [],
                "state": each["state"],
                "commit": {"oid": ""},
            }
            for each in entry.get("reviews", ())
        ],
    }


def _entry(store: dict[str, Any], flags: dict[str, Any], rest: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    from tests.tasks.stand_ins.gh import one, repo

    name, entry = one(store, "pr", flags, rest)
    return repo(store, name)[1], entry


def checks(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    del noun
    repository, entry = _entry(store, flags, rest)
    required = "--required" in flags  # the calls with it and without are one look
    found = _ran(repository, entry, look=required)
    reported = [each for each in found if each["required"] or not required]
    if not reported:
        kind = "required checks" if found else "checks"
        store["end"] = f"no {kind} reported on the '{entry['headRefName']}' branch", 1
        return ""
    found = reported
    if "--json" in flags:
        return json.dumps([{name: each[name] for name in sorted(flags["--json"])} for each in found]) + "\n"
    buckets = [each["bucket"] for each in found]
    shown = ["fail" if each == "cancel" else each for each in buckets]
    pending = 1 if store["version"].startswith("2.23.") else 8
    if status := 1 if "fail" in shown else pending if "pending" in shown else 0:
        store["end"] = "", status
    rows = zip(found, shown, strict=True)
    return "".join(f"{each['name']}\t{bucket}\t1m0s\t{each['link']}\n" for each, bucket in rows)


def merge(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    del noun
    repository, entry = _entry(store, flags, rest)
    methods = [each for each in ("merge", "rebase", "squash") if flags.get(f"--{each}")]
    if len(methods) != 1:
        raise Failed("--merge, --rebase, or --squash required when not running interactively")
    named = f"acme/app#{entry['number']}"
    if entry["state"] == "MERGED":
        print(f"! Pull request {named} was already merged", file=sys.stderr)
        return ""
    reasons = {
        "BLOCKED": "the base branch policy prohibits the merge",
        "BEHIND": "the head branch is not up to date with the base branch",
        "DIRTY": "the merge commit cannot be cleanly created",
    }
    if (status := standing(repository, entry)["mergeStateStatus"]) in reasons:
        raise Failed(
            f"X Pull request {named} is not mergeable: {reasons[status]}.\nTo have the pull request merged after"
            " all the requirements have been met, add the `--auto` flag."
        )
    if methods[0] not in repository["methods"]:
        raise Failed(
            f"GraphQL: {methods[0].capitalize()} merges are not allowed on this repository. (mergePullRequest)"
        )
    base, head = tip(entry, entry["baseRefName"]), tip(entry, entry["headRefName"])
    if flags.get("--match-head-commit", head) != head:
        raise Failed("GraphQL: Head branch was modified. Review and try the merge again. (mergePullRequest)")
    tree = git(entry, "merge-tree", "--write-tree", base, head).stdout.split()[0]
    parents = ["-p", base, *(["-p", head] if methods[0] == "merge" else [])]
    who = ("-c", "user.name=GitHub", "-c", "user.email=noreply@github.com")
    commit = git(entry, *who, "commit-tree", tree, *parents, "-m", f"{entry['title']} (#{entry['number']})")
    git(entry, "update-ref", f"refs/heads/{entry['baseRefName']}", commit.stdout.strip())
    entry |= {
        "state": "MERGED",
        "mergedAt": "2026-01-02T03:04:05Z",
        "merged": [*entry.get("merged", ()), methods[0]],
    }
    return ""


def log(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    del noun, rest
    from tests.tasks.stand_ins.gh import repo

    _, repository = repo(store, flags.get("--repo"))
    entry = repository["pulls"].get(flags.get("--job", "0")[:-2])
    found = [] if entry is None else _ran(repository, entry, look=False)
    job = next((each for each in found if str(each["job"]) == flags["--job"]), None)
    if job is None:
        raise Failed(f"failed to get job: HTTP 404: Not Found (https://api.github.com/{flags.get('--job')})")
    if any(each["bucket"] == "pending" for each in found):
        raise Failed(f"run {entry['number']} is still in progress; logs will be available when it is complete")
    for line in job["log"].splitlines(keepends=True):
        sys.stdout.buffer.write(f"{job['name']}\tRun tests\t2026-01-02T03:04:05.1234567Z ".encode() + line)
    sys.stdout.buffer.flush()
    return ""


def api(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    del noun
    _, _, _, _, number, what = rest[0].partition("?")[0].split("/")
    entry = store["repositories"]["acme/app"]["pulls"][number]
    if what == "requested_reviewers" and flags["--method"] == "POST":
        logins = [each.partition("=")[2] for each in flags["--raw-field"]]
        entry["requested"] = [*dict.fromkeys([*entry["requested"], *logins])]
        entry["asked"] = [*entry.get("asked", ()), logins]
        return json.dumps({"number": entry["number"]})
    return json.dumps([
        {"id": 7 + place, "user": {"login": each["login"], "type": "User"}, "author_association": each["role"],
         "path": each["path"], "line": each["line"], "body": each["body"], "pull_request_review_id": 1}
        for place, each in enumerate(entry["inline"])
    ][::-1])  # fmt: skip
