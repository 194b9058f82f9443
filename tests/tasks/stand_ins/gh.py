"""A stand-in for ``gh``: issues and pull requests out of a JSON file, in the words, flags and fields of gh 2.103.

``python -m tests.tasks.stand_ins.gh STORE WORDS...``; `tests.tasks.stand_ins.trackers.Gh` puts it on a PATH.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

from tests.tasks.stand_ins import hosting
from tests.tasks.stand_ins.flags import Failed, opened, read_flags

SAID = {
    "network": (
        "error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com",
        1,
    ),
    "rate": ("GraphQL: API rate limit exceeded for user ID 583231.", 1),
    "secondary": (
        "HTTP 403: You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        " (https://api.github.com/graphql)",
        1,
    ),
    "auth": (
        "To get started with GitHub CLI, please run:  gh auth login\nAlternatively, populate the GH_TOKEN"
        " environment variable with a GitHub API authentication token.",
        4,
    ),
    "token": (
        "HTTP 401: Bad credentials (https://api.github.com/graphql)\nTry authenticating with:  gh auth login",
        1,
    ),
    "forbidden": ("GraphQL: Resource not accessible by personal access token (addComment)", 1),
    "server": ("HTTP 502: Bad Gateway (https://api.github.com/graphql)", 1),
}
FLAGS = {
    "issue list": "--app= -a/--assignee= -A/--author= -q/--jq= --json=[] -l/--label=[] -L/--limit= --mention="
    " -m/--milestone= -S/--search= -s/--state= -t/--template= --type= -w/--web -R/--repo=",
    "issue view": "-c/--comments -q/--jq= --json=[] -t/--template= -w/--web -R/--repo=",
    "issue comment": "--attach= -b/--body= -F/--body-file= --create-if-none --delete-last --edit-last -e/--editor"
    " -w/--web --yes -R/--repo=",
    "issue close": "-c/--comment= --duplicate-of= -r/--reason= -R/--repo=",
    "pr create": "-a/--assignee=[] --attach= -B/--base= -b/--body= -F/--body-file= -d/--draft --dry-run -e/--editor"
    " -f/--fill --fill-first --fill-verbose -H/--head= -l/--label=[] -m/--milestone= --no-maintainer-edit"
    " -p/--project=[] --recover= -r/--reviewer=[] -T/--template= -t/--title= -w/--web -R/--repo=",
    "pr list": "--app= -a/--assignee= -A/--author= -B/--base= -d/--draft -H/--head= -q/--jq= --json=[]"
    " -l/--label=[] -L/--limit= -S/--search= -s/--state= -t/--template= -w/--web -R/--repo=",
    "pr checks": "--fail-fast -i/--interval= -q/--jq= --json=[] --required -t/--template= --watch -w/--web"
    " -R/--repo=",
    "pr merge": "--admin -A/--author-email= --auto -b/--body= -F/--body-file= -d/--delete-branch --disable-auto"
    " --match-head-commit= -m/--merge -r/--rebase -s/--squash -t/--subject= -R/--repo=",
    "run view": "-a/--attempt= --exit-status -j/--job= -q/--jq= --json=[] --log --log-failed -t/--template="
    " -v/--verbose -w/--web -R/--repo=",
    "pr view": "-c/--comments -q/--jq= --json=[] -t/--template= -w/--web -R/--repo=",
    "repo view": "-b/--branch= -q/--jq= --json=[] -t/--template= -w/--web",
    "api graphql": "--allow-escape-sequences --cache= -F/--field={} -H/--header=[] --hostname= -i/--include"
    " --input= -q/--jq= -X/--method= --paginate -p/--preview=[] -f/--raw-field={} --silent --slurp"
    " -t/--template= --verbose",
    "api": "",
    "auth status": "-a/--active -h/--hostname= -q/--jq= --json=[] -t/--show-token --template=",
}
_COMMON = "assignees author body closed closedAt comments createdAt id labels milestone number projectCards"
_COMMON += " projectItems reactionGroups state title updatedAt url"
FLAGS["api"] = FLAGS["api graphql"]
FIELDS = {
    "issue": f"{_COMMON} blockedBy blocking closedByPullRequestsReferences isPinned issueType parent"
    " stateReason subIssues subIssuesSummary",
    "pr": f"{_COMMON} additions autoMergeRequest baseRefName baseRefOid changedFiles closingIssuesReferences"
    " commits deletions files fullDatabaseId headRefName headRefOid headRepository headRepositoryOwner"
    " isCrossRepository isDraft latestReviews maintainerCanModify mergeCommit mergeStateStatus mergeable"
    " mergedAt mergedBy potentialMergeCommit reviewDecision reviewRequests reviews statusCheckRollup",
    "repo": "defaultBranchRef description id isArchived isFork isPrivate mergeCommitAllowed name nameWithOwner"
    " owner rebaseMergeAllowed squashMergeAllowed sshUrl url viewerDefaultMergeMethod",
    "checks": "bucket completedAt description event link name startedAt state workflow",
    "run": "",
}
"""What ``--json`` takes; of a repository some of it."""
NEWER = {"blockedBy", "blocking", "closedByPullRequestsReferences", "isPinned", "issueType", "parent"} | {
    "stateReason", "subIssues", "subIssuesSummary", "projectItems"}  # fmt: skip
"""Fields of issues that gh 2.23 (Debian 12) doesn't have."""


def main(path: str, words: list[str]) -> str:
    command = " ".join(words[:2])
    if words[0] == "api" and words[1] != "graphql":
        command = "api"
    if command not in FLAGS:
        raise Failed(f'unknown command "{command}" for "gh"')
    known = FLAGS[command]
    if command == "pr checks" and _old(path):
        known = known.replace("--json=[] ", "").replace("-q/--jq= ", "").replace("-t/--template= ", "")
    flags, rest = read_flags(words[len(command.split()) :], known, f"gh {command}")
    if "--json" in flags:
        _known_fields(path, command.split()[1 if command == "pr checks" else 0], flags["--json"])
    with opened(path, words, SAID) as store:
        if not store["login"]:
            if command == "auth status":
                raise Failed("You are not logged into any GitHub hosts. To log in, run: gh auth login")
            raise Failed(*SAID["auth"])
        if command == "auth status":
            return f"github.com\n  ✓ Logged in to github.com account {store['login']} (GH_TOKEN)\n"
        answer = {
            "issue list": _list,
            "issue view": _view,
            "issue comment": _comment,
            "issue close": _close,
            "pr create": _create,
            "pr list": _list,
            "pr view": _view,
            "pr checks": hosting.checks,
            "pr merge": hosting.merge,
            "run view": hosting.log,
            "api": hosting.api,
            "repo view": _repository,
            "api graphql": _states,
        }[command](store, words[0], flags, rest)
        end = store.pop("end", None)  # it fails, and what it has counted stands
    if end is not None:
        sys.stdout.write(answer)
        raise Failed(*end)
    return answer


def _old(path: str) -> bool:
    with open(path) as file:
        return bool(json.load(file)["version"].startswith("2.23."))


def _known_fields(path: str, noun: str, asked: list[str]) -> None:
    known = {each for each in FIELDS[noun].split() if not (_old(path) and each in NEWER)}
    for name in asked:
        if name not in known:
            listed = "\n".join(f"  {each}" for each in sorted(known))
            raise Failed(f'Unknown JSON field: "{name}"\nAvailable fields:\n{listed}')


def repo(store: dict[str, Any], named: str | None) -> tuple[str, dict[str, Any]]:
    """The repository that is named, or that the remotes of this folder lead to."""
    repositories = store["repositories"]
    if named is None:
        remote = subprocess.run(["git", "remote", "get-url", "origin"], capture_output=True, text=True, check=False)
        if remote.returncode != 0:
            raise Failed("no git remotes found")
        url = remote.stdout.strip().removesuffix(".git")
        named = next((name for name in repositories if url.endswith((f"/{name}", f":{name}"))), None)
        if named is None:
            raise Failed(
                "none of the git remotes configured for this repository point to a known GitHub host. To tell gh"
                " about a new GitHub host, please use `gh auth login`"
            )
    if not re.fullmatch(r"([^/\s]+/)?[^/\s]+/[^/\s]+", named):
        raise Failed(f'expected the "[HOST/]OWNER/REPO" format, got "{named}"')
    named = "/".join(named.split("/")[-2:])
    for name, repository in repositories.items():
        if name.lower() == named.lower():
            return name, repository
    raise Failed(f"GraphQL: Could not resolve to a Repository with the name '{named}'. (repository)")


def _number(text: str) -> str:
    found = re.fullmatch(r"#?(\d+)|https://\S+/(?:issues|pull)/(\d+)", text)
    if found is None:
        raise Failed(f'invalid issue format: "{text}"')
    return found[1] or found[2]


def one(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> tuple[str, dict[str, Any]]:
    name, repository = repo(store, flags.get("--repo"))
    if len(rest) != 1:
        raise Failed(f"accepts 1 arg(s), received {len(rest)}")
    if noun == "pr" and not re.fullmatch(r"#?\d+|https://\S+", rest[0]):
        for each in reversed(repository["pulls"].values()):
            if each["headRefName"] == rest[0]:
                return name, each
        raise Failed(f'no pull requests found for branch "{rest[0]}"')
    number = _number(rest[0])
    if number in repository["pulls"]:  # gh's own: `issue view 5` shows a pull request, too
        return name, repository["pulls"][number]
    if noun == "pr":
        told = f"Could not resolve to a PullRequest with the number of {number}. (repository.pullRequest)"
        raise Failed(f"GraphQL: {told}")
    if number not in repository["issues"]:
        told = f"Could not resolve to an issue or pull request with the number of {number}. (repository.issue)"
        raise Failed(f"GraphQL: {told}")
    return name, repository["issues"][number]


def _list(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    if rest:
        raise Failed(f'unknown argument "{rest[0]}"; please quote all values that have spaces')
    limit = flags.get("--limit", "30")
    if not limit.isdigit():
        raise Failed(f'invalid argument "{limit}" for "-L, --limit" flag: strconv.ParseInt: invalid syntax')
    if int(limit) < 1:
        raise Failed(f"invalid limit: {limit}")
    state = flags.get("--state", "open")
    states = ("open", "closed", "all") if noun == "issue" else ("open", "closed", "merged", "all")
    if state not in states:
        told = f'invalid argument "{state}" for "-s, --state" flag: valid values are {{{"|".join(states)}}}'
        raise Failed(told)
    name, repository = repo(store, flags.get("--repo"))
    entries = repository["issues" if noun == "issue" else "pulls"]
    found = [each for _, each in sorted(entries.items(), key=lambda pair: -int(pair[0]))]
    words = flags.get("--search", "").split()
    stated = next((each.partition(":")[2] for each in words if each.startswith(("is:", "state:"))), state)
    if stated != "all":
        found = [each for each in found if each["state"] == stated.upper()]
    if "--milestone" in flags and flags["--milestone"].isdigit():
        known = {str(each["milestone"]["number"]) for each in entries.values() if each["milestone"]}
        if flags["--milestone"] not in known:
            raise Failed(f"no milestone found with number '{flags['--milestone']}'")
    found = [each for each in found if _wanted(store, each, flags, words)]
    capped = bool(words or flags.get("--label") or flags.get("--milestone"))  # the search API gives 1,000 at most
    found = found[: min(int(limit), 1_000) if capped else int(limit)]
    if "--json" not in flags:
        return "".join(f"{each['number']}\t{each['state']}\t{each['title']}\n" for each in found)
    return _json([_fields(name, store["login"], each, flags["--json"]) for each in found])


def _wanted(store: dict[str, Any], each: dict[str, Any], flags: dict[str, Any], words: list[str]) -> bool:
    labels = {label.lower() for label in each["labels"]}
    assignee = flags.get("--assignee")
    milestone = each["milestone"] or {"number": "", "title": ""}
    texts = [word.lower() for word in words if ":" not in word]
    return (
        all(label.lower() in labels for label in flags.get("--label", ()))
        and (assignee is None or (store["login"] if assignee == "@me" else assignee) in each["assignees"])
        and flags.get("--milestone", milestone["title"]) in (milestone["title"], str(milestone["number"]))
        and all(flags.get(flag, each.get(key)) == each.get(key) for flag, key in _BRANCHES.items())
        and all(text.strip('"') in f"{each['title']} {each['body']}".lower() for text in texts)
    )


METHODS = {"squashMerge": "squash", "mergeCommit": "merge", "rebaseMerge": "rebase"}
_BRANCHES = {"--head": "headRefName", "--base": "baseRefName"}


def _view(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    name, entry = one(store, noun, flags, rest)
    if "--json" in flags:
        return _json(_fields(name, store["login"], entry, flags["--json"], repo(store, name)[1]))
    return f"title:\t{entry['title']}\nstate:\t{entry['state']}\n--\n{entry['body']}\n"


def _comment(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    body = _body(flags)
    if body is None:
        raise Failed("flags required when not running interactively")
    if not body.strip():
        raise Failed("body cannot be blank")
    name, entry = one(store, noun, flags, rest)
    store["last"] += 1
    kind = "issues" if "headRefName" not in entry else "pull"
    url = f"https://github.com/{name}/{kind}/{entry['number']}#issuecomment-{store['last']}"
    entry["comments"].append({"author": store["login"], "body": body, "url": url})
    return f"{url}\n"


def _body(flags: dict[str, Any]) -> str | None:
    if "--body-file" in flags:
        if flags["--body-file"] == "-":
            return sys.stdin.buffer.read().decode()
        with open(flags["--body-file"]) as file:
            return file.read()
    return flags.get("--body")


def _close(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    reason = flags.get("--reason", "completed")
    if reason not in ("completed", "not planned", "duplicate"):
        kinds = "valid values are {completed|not planned|duplicate}"
        raise Failed(f'invalid argument "{reason}" for "-r, --reason" flag: {kinds}')
    name, entry = one(store, noun, flags, rest)
    told = f"issue {name}#{entry['number']} ({entry['title']})"
    if entry["state"] == "CLOSED":
        print(f"! {told.capitalize()} is already closed", file=sys.stderr)
        return ""
    if "--comment" in flags:
        _comment(store, noun, {"--repo": name, "--body": flags["--comment"]}, rest)
    entry["state"], entry["reason"] = "CLOSED", reason.upper().replace(" ", "_")
    print(f"✓ Closed {told}", file=sys.stderr)
    return ""


def _create(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    del noun
    if rest:
        raise Failed(f'unknown argument "{rest[0]}"; please quote all values that have spaces')
    body = _body(flags)
    if "--title" not in flags or body is None:
        raise Failed(
            "must provide `--title` and `--body` (or `--fill` or `fill-first` or `--fillverbose`) when not running"
            " interactively"
        )
    name, repository = repo(store, flags.get("--repo"))
    base, head = flags.get("--base", repository["default"]), flags.get("--head")
    if head is None:
        raise Failed("aborted: you must first push the current branch to a remote, or use the --head flag")
    for each in repository["pulls"].values():
        if (each["headRefName"], each["baseRefName"], each["state"]) == (head, base, "OPEN"):
            told = f'a pull request for branch "{head}" into branch "{base}" already exists:'
            raise Failed(f"{told}\n{_url(name, each)}")
    if repository["remote"]:
        between = [f"refs/heads/{base}..refs/heads/{head}"]
        git = ["git", "-C", repository["remote"], "rev-list", "--count", *between]
        counted = subprocess.run(git, capture_output=True, text=True, check=False)
        if counted.returncode != 0:
            wrong = "Head sha can't be blank, Base sha can't be blank, No commits between"
            raise Failed(f"pull request create failed: GraphQL: {wrong} {base} and {head} (createPullRequest)")
        if counted.stdout.strip() == "0":
            told = f"GraphQL: No commits between {base} and {head} (createPullRequest)"
            raise Failed(f"pull request create failed: {told}")
    number = 1 + max((int(each) for kind in ("issues", "pulls") for each in repository[kind]), default=0)
    pull = new_entry(number, flags["--title"], body, labels=flags.get("--label", []), author=store["login"])
    pull.update(headRefName=head, baseRefName=base, isDraft=bool(flags.get("--draft")), mergedAt=None)
    pull |= {"remote": repository["remote"], "reviews": [], "inline": [], "requested": []}
    repository["pulls"][str(number)] = pull
    return f"{_url(name, pull)}\n"


def _repository(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    del noun
    name, repository = repo(store, rest[0] if rest else None)
    owner, _, short = name.partition("/")
    known = {
        "nameWithOwner": name,
        "name": short,
        "owner": {"id": "O_1", "login": owner},
        "url": f"https://github.com/{name}",
        "sshUrl": f"git@github.com:{name}.git",
        "defaultBranchRef": {"name": repository["default"]},
        **{f"{name}Allowed": method in repository["methods"] for name, method in METHODS.items()},
    }
    return _json({field: known.get(field) for field in flags.get("--json", known)})


def _states(store: dict[str, Any], noun: str, flags: dict[str, Any], rest: list[str]) -> str:
    """The one query that we ask: which of these issues and pull requests are open."""
    del noun, rest
    given = dict(each.split("=", 1) for each in flags["--raw-field"])
    _, repository = repo(store, f"{given['owner']}/{given['name']}")
    entries = {**repository["issues"], **repository["pulls"]}
    states = {
        name: {"state": entries[number]["state"]} if number in entries else None
        for name, number in re.findall(r"(\w+):issueOrPullRequest\(number:(\d+)\)", given["query"])
    }
    errors = [
        {"type": "NOT_FOUND", "path": ["repository", name], "message": f"Could not resolve to {name[1:]}."}
        for name, state in states.items()
        if state is None
    ]
    answer = {"data": {"repository": states}, **({"errors": errors} if errors else {})}
    if errors:
        sys.stdout.write(json.dumps(answer))
        raise Failed("\n".join(f"gh: {each['message']}" for each in errors))
    return json.dumps(answer)


def new_entry(number: int, title: str, body: str, *, labels: list[str], author: str) -> dict[str, Any]:
    """Give an issue as the store has it; a pull request has branches, too."""
    return {
        "number": number,
        "title": title,
        "body": body,
        "state": "OPEN",
        "reason": "",
        "labels": labels,
        "milestone": None,
        "assignees": [],
        "author": author,
        "comments": [],
        "blockedBy": [],
    }


def _url(name: str, entry: dict[str, Any]) -> str:
    return f"https://github.com/{name}/{'pull' if 'headRefName' in entry else 'issues'}/{entry['number']}"


def _fields(
    name: str, viewer: str, entry: dict[str, Any], asked: list[str], repository: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The fields of an issue or a pull request, in the shapes that gh gives."""
    when = "2026-01-02T03:04:05Z"
    closed = entry["state"] != "OPEN"
    there = f"https://github.com/{name}/issues"
    blockers = [
        each if isinstance(each, dict) else {"number": each, "state": "OPEN", "url": f"{there}/{each}"}
        for each in entry["blockedBy"]
    ]
    known = {
        "blockedBy": {
            "nodes": [{"id": "I", "title": "", **each} for each in blockers],
            "totalCount": len(blockers),
        },
        **{key: entry.get(key) for key in ("number", "title", "body", "state", *_PULL)},
        "stateReason": entry["reason"],
        "closed": closed,
        "closedAt": when if closed else None,
        "createdAt": when,
        "updatedAt": when,
        "id": f"I_{entry['number']}",
        "url": _url(name, entry),
        "labels": [
            {"id": f"LA_{each}", "name": each, "description": "", "color": "ededed"} for each in entry["labels"]
        ],
        "milestone": entry["milestone"] and {**entry["milestone"], "description": "", "dueOn": None},
        "assignees": [{"id": f"U_{each}", "login": each, "name": ""} for each in entry["assignees"]],
        "author": {"id": "U_a", "is_bot": False, "login": entry["author"], "name": ""},
        "comments": [
            {
                "id": f"IC_{number}",
                "author": {"login": each["author"]},
                "authorAssociation": "OWNER",
                "body": each["body"],
                "createdAt": when,
                "includesCreatedEdit": False,
                "isMinimized": False,
                "minimizedReason": "",
                "reactionGroups": [],
                "url": each["url"],
                "viewerDidAuthor": each["author"] == viewer,
            }
            for number, each in enumerate(entry["comments"])
        ],
    }
    if entry.get("remote"):
        known["headRefOid"] = entry.get("head") or hosting.tip(entry, entry["headRefName"])
    if "headRefName" in entry and repository is not None:
        known |= hosting.standing(repository, entry)
    return {field: known.get(field) for field in sorted(asked)}


_PULL = ("headRefName", "baseRefName", "isDraft", "isCrossRepository", "mergedAt")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    try:
        sys.stdout.buffer.write(main(sys.argv[1], sys.argv[2:]).encode("utf-8", "surrogatepass"))
        sys.stdout.flush()
    except Failed as error:
        sys.stdout.flush()
        print(error, file=sys.stderr)
        os._exit(error.status)
