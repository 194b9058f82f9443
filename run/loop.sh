#!/usr/bin/env bash
# The steps of run/action.yml, one a function: docs/ci.md. What a workflow passes in comes by environment variables only.
# The token is in the steps that fetch and push alone, and git there goes by no configuration that a turn can have written.
# shellcheck disable=SC2153 # inputs are the variables in upper case
set -euo pipefail

root=$(cd "$GITHUB_ACTION_PATH/.." && pwd)
kept=$RUNNER_TEMP/ralph-bridge-loop # of this job
state=$RUNNER_TEMP/ralph-bridge-state # what is cached
report=$RUNNER_TEMP/ralph-bridge-report # what becomes an artefact
url=${GITHUB_SERVER_URL:-}/${GITHUB_REPOSITORY:-}
title='title=ralph-bridge run'

refuse() { # MESSAGE [STATUS]: a number of docs/command-line.md
    echo "::error $title::$1"
    [ -f "$kept/status" ] || echo "${2:-2}" >"$kept/status"
    echo "$1" >>"$kept/said"
    exit "${2:-2}"
}

output() { printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; }

bridge() { "$kept/venv/bin/ralph-bridge" "$@"; }

# shellcheck disable=SC2016 # the helper's own shell expands it: no command line shows the token
remote() { # git, with the token, in a repository of its own
    GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 git -C "$kept/push.git" \
        -c credential.helper= \
        -c credential.helper='!f() { echo username=x-access-token; echo "password=$GH_TOKEN"; }; f' "$@"
}

project() { (cd -P -- "$PROJECT" 2>/dev/null && pwd); }

check() {
    rm -rf "$kept" "$state" "$report"
    mkdir -p "$kept" "$state" "$report"
    cp "$GITHUB_ACTION_PATH/loop.sh" "$kept" # later steps run that: turns, and branches, write what lies in the workspace
    [ -n "$MAX_COST$MAX_MINUTES$MAX_ITERATIONS" ] ||
        refuse "no cap: a loop in CI needs 'max-cost', 'max-minutes' or 'max-iterations'."
    case $KEY_NAME in
        '') ;;
        [!A-Z]* | *[!A-Z0-9_]*) refuse "input 'key-name': expected the name of a variable, such as ANTHROPIC_API_KEY." ;;
        *) [ -n "$KEY" ] || refuse "the key is empty: add the secret $KEY_NAME (Settings, Secrets and variables, Actions);\
 the pull requests of forks and of Dependabot get no secrets." 4 ;;
    esac
    for each in "$PULL_REQUEST" "$FAIL_ON_INCOMPLETE"; do
        case $each in true | false) ;; *) refuse "inputs 'pull-request' and 'fail-on-incomplete': expected true or false." ;; esac
    done
    git rev-parse --git-dir >/dev/null 2>&1 || refuse "there is no repository here: use actions/checkout before this step."
    [ "$(git rev-parse --is-shallow-repository)" = false ] ||
        refuse "the checkout is shallow: give actions/checkout 'fetch-depth: 0'."
    if git config --get-regexp '^http\..*\.extraheader$' >/dev/null; then
        refuse "the checkout has left a token that turns could read: give actions/checkout 'persist-credentials: false'."
    fi
    case $BRANCH in refs/*) false ;; *) git check-ref-format --branch "$BRANCH" >/dev/null 2>&1 ;; esac ||
        refuse "input 'branch': no name of a branch."
    project >"$kept/project" || :
    case $(cat "$kept/project")/ in
        "$(pwd -P)"/*) ;;
        *) refuse "input 'project': there is no such folder in the workspace." ;;
    esac
    git init --quiet --bare "$kept/push.git"
    remote ls-remote --symref "$url" HEAD >"$kept/head" || refuse "the repository can't be read with the token." 4
    default=$(sed -n 's,^ref: refs/heads/\(.*\)[[:space:]]HEAD$,\1,p' "$kept/head")
    [ "$BRANCH" != "$default" ] || refuse "input 'branch' is the default branch, which is never pushed to: name another."
    [ "$BRANCH" != "${BASE:-$default}" ] || refuse "inputs 'branch' and 'base' are the same."
    [ -n "$(remote ls-remote "$url" "refs/heads/${BASE:-$default}")" ] || refuse "input 'base': there is no such branch."
    printf '%s' "${BASE:-$default}" >"$kept/base"
    output key "$(printf '%s' "$BRANCH/$PROJECT" | sha256sum | cut -c 1-16)"
}

install() {
    python=
    for each in python3 python python3.14 python3.13 python3.12 python3.11; do
        if "$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$each && break; fi
    done
    [ -n "$python" ] || refuse 'Python 3.11 or newer is needed: use actions/setup-python before this step.' 4
    "$python" -P -m venv "$kept/venv"
    pip=("$kept/venv/bin/python" -P -m pip install --quiet --disable-pip-version-check)
    "${pip[@]}" --require-hashes --requirement "$root/requirements.lock"
    "${pip[@]}" --no-deps "$root"
    bridge --version
}

begin() { # on the branch, with the state of the run before
    git rev-parse HEAD >"$kept/checkout"
    case $root/ in # a copy of ralph-bridge in the workspace is no work
        "$GITHUB_WORKSPACE"/?*) echo "/${root#"$GITHUB_WORKSPACE"/}/" >>"$(git rev-parse --git-path info/exclude)" ;;
    esac
    if remote fetch --quiet "$url" "refs/heads/$BRANCH:refs/heads/before" 2>"$kept/fetched"; then
        git fetch --quiet "$kept/push.git" refs/heads/before
        git merge-base --is-ancestor FETCH_HEAD HEAD || git checkout --quiet --detach FETCH_HEAD
        echo "The branch is there: the loop goes on from $(git rev-parse --short HEAD)."
    elif [ -n "$(remote ls-remote "$url" "refs/heads/$BRANCH")" ]; then
        cat "$kept/fetched"
        refuse "the branch can't be fetched." 4
    fi
    git checkout --quiet -B "$BRANCH"
    git config --get user.email >/dev/null || {
        git config user.name 'github-actions[bot]'
        git config user.email '41898282+github-actions[bot]@users.noreply.github.com'
    }
    [ "$(project)" = "$(cat "$kept/project")" ] || refuse "on the branch, 'project' is another folder, or none: see what the branch\
 has there, and delete the branch, or name another."
    # What the checkout has is as it has it; tar would write through its links to folders.
    through=$(cd "$PROJECT" && find .ralph .claude logs -type l -xtype d 2>/dev/null) || : # not all of them are there
    if [ -f "$state/state.tar" ] && [ -n "$through" ]; then
        echo "::warning $title::the state of the run before is passed over: .ralph, .claude or logs has a link to a folder."
    elif [ -f "$state/state.tar" ]; then
        tar -x -f "$state/state.tar" -C "$PROJECT" --skip-old-files --no-same-owner && echo 'The state of the run before is there.'
    fi
    git rev-parse HEAD >"$kept/began"
}

boxes() { bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc --dev /dev true 2>/dev/null; }

loop() {
    options=()
    while read -r each; do
        each=${each%$'\r'}
        case $each in
            '') ;;
            --detach | --dry-run) refuse "input 'options': $each is nothing for a job, which ends with its steps." ;;
            *) options+=("$each") ;;
        esac
    done <<<"$OPTIONS"
    [ -z "$MAX_MINUTES" ] || options+=(--max-minutes "$MAX_MINUTES")
    [ -z "$MAX_ITERATIONS" ] || options+=(--max-iterations "$MAX_ITERATIONS")
    [ -z "$MAX_COST" ] || export RALPH_BRIDGE_MAX_COST=$MAX_COST
    if [ "$SANDBOX" = auto ]; then
        SANDBOX=none
        if boxes; then
            SANDBOX=bwrap
        else
            echo "::warning $title::no box: bwrap isn't there, or may not make one on this runner (docs/sandbox.md). Turns can do" \
                'whatever this job can.'
        fi
    fi
    export RALPH_BRIDGE_SANDBOX=$SANDBOX
    key=$KEY
    unset KEY GH_TOKEN
    for each in ${!GITHUB_*} ${!ACTIONS_*} ${!INPUT_*}; do
        case $each in GITHUB_OUTPUT | GITHUB_ENV | GITHUB_PATH | GITHUB_STATE | GITHUB_STEP_SUMMARY | *TOKEN*) unset "$each" ;; esac
    done
    [ -z "$KEY_NAME" ] || export "$KEY_NAME=$key" # whatever it is called
    cd "$PROJECT"
    # What turns print is text: the runner takes no line of it for a command of this job's until a word that they don't know.
    word=$(head -c 16 /dev/urandom | sha256sum | cut -c 1-32)
    echo "::stop-commands::$word"
    # The runner's signals come to this shell; one in the background would pass over INT.
    bridge run "${options[@]}" </dev/null 2> >(tee -i "$kept/said" >&2) &
    running=$!
    trap 'kill -TERM "$running" 2>/dev/null || :' INT TERM
    status=0
    wait "$running" || status=$?
    while kill -0 "$running" 2>/dev/null; do
        status=0
        wait "$running" || status=$?
    done
    printf '\n::%s::\n' "$word"
    echo "$status" >"$kept/status"
}

outcome() { # how the loop ended, by its record: exit codes are those of a controller in some kinds of setup
    code=$(cat "$kept/status" 2>/dev/null || echo 4)
    found=none
    if [ -f "$report/report.json" ]; then
        found=$("$kept/venv/bin/python" -P -c 'import json, sys
run = json.load(open(sys.argv[1]))["runs"][-1]
gone = any(turn.get("permanent") for turn in run["turns"][-1:])
print("not-ready" if gone and run["state"] == "incomplete" else run["state"])' "$report/report.json")
    fi
    case $code in
        0 | 1) [ "$found" != none ] || found=refused ;;
        2) found=refused ;;
        3) found=failed ;;
        4) found=not-ready ;;
        130 | 143) found=interrupted ;;
    esac
    printf '%s' "$found"
}

summarise() {
    [ -d "$kept" ] || exit 0
    [ ! -f "$kept/began" ] || cd "$PROJECT"
    if [ -f "$kept/began" ] && [ -f "$kept/status" ] && bridge report --format json -o "$report/report.json" 2>/dev/null; then
        bridge report --format html -o "$report/report.html"
        bridge report --format md -o "$report/report.md"
        head -c 1000000 "$report/report.md" >"$GITHUB_STEP_SUMMARY" # GitHub shows none above 1 MiB
    else
        rm -f "$report/report.json"
        { printf '### ralph-bridge: no loop has run\n\n'; tail -n 20 "$kept/said" 2>/dev/null | sed 's/^/    /'; } >"$GITHUB_STEP_SUMMARY"
    fi
    if [ -f "$kept/began" ]; then # a session that only this runner knew is not gone on with
        git ls-files -z --others -- .ralph '.claude/ralph*' logs | tar -c -f "$state/state.tar" --null --no-recursion \
            --exclude='.claude_session_id' --exclude='*.lock' --files-from=-
    fi
}

commit() { # without the token: git runs what the configuration names here, and that a turn can have written
    [ -f "$kept/began" ] || exit 0
    git add -A
    git diff --cached --quiet || git -c core.hooksPath=/dev/null -c commit.gpgSign=false commit --quiet \
        -m 'Work of the loop that it had not committed'
    remote fetch --quiet "$GITHUB_WORKSPACE" HEAD:refs/heads/after
}

push() { # with the token, and so not in the workspace
    [ -f "$kept/began" ] || exit 0
    head=$(remote rev-parse refs/heads/after)
    before=$(remote rev-parse --verify --quiet refs/heads/before || cat "$kept/began")
    if [ "$head" = "$before" ]; then
        echo 'Nothing to push: the loop has committed nothing.'
    else
        remote push --quiet "$url" "refs/heads/after:refs/heads/$BRANCH" || refuse "the branch could not be pushed, and nothing is\
 ever forced: see whether somebody else has pushed to it, and whether the job has 'contents: write'." 4
        echo "Pushed: $BRANCH is at $(remote rev-parse --short "$head")."
    fi
    if [ "$PULL_REQUEST" = true ] && [ "$head" != "$(cat "$kept/checkout")" ]; then pull_request; fi
}

pull_request() {
    cd "$kept" # not among files that turns have written
    base=$(cat base)
    { echo "The loop's report ($(outcome)):"; echo; head -c 60000 "$report/report.md" 2>/dev/null || :; } >body.md
    there=(gh pr list --repo "$GITHUB_REPOSITORY" --head "$BRANCH" --base "$base" --state open --json url --jq '.[0].url // ""')
    if ! link=$("${there[@]}"); then
        refuse "pull requests can't be listed: the job needs 'pull-requests: write'." 4
    elif [ -n "$link" ]; then
        gh pr edit "$link" --body-file body.md >/dev/null || echo "::warning $title::the pull request's text could not be changed."
    else
        link=$(gh pr create --repo "$GITHUB_REPOSITORY" --head "$BRANCH" --base "$base" --title "$TITLE" --body-file body.md) ||
            refuse "the branch is pushed, and no pull request made: the job needs 'pull-requests: write', and the repository's\
 settings have to allow Actions to create them." 4
    fi
    output pull-request "$link"
    echo "Pull request: $link"
}

finish() {
    code=$(cat "$kept/status" 2>/dev/null || echo 4)
    found=$(outcome)
    output outcome "$found"
    output exit-code "$code"
    echo "The loop: $found (exit code $code)."
    case $found in
        complete) ;;
        incomplete) [ "$FAIL_ON_INCOMPLETE" != true ] || exit 1 ;;
        *)
            [ "$code" -gt 1 ] || code=4
            exit "$code"
            ;;
    esac
    [ "$code" -le 1 ] || exit "$code"
}

"$1"
