"""Who isn't there is told: commands and webhooks, in every kind of setup; nothing of that disturbs the loop."""

from __future__ import annotations

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from bridge.base.process.ask import ask
from bridge.base.process.program import Program
from bridge.base.process.secrets import shown_words
from bridge.errors import ConfigurationError
from bridge.loop.engine.notify import read_notify
from bridge.shell import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.setups.conftest import Setup


def _told(setup: Setup) -> list[dict[str, Any]]:
    path = setup.folder.parent / "told"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


TELL = 'cat >> ../told; echo >> ../told; echo "$RALPH_EVENT $RALPH_REASON" >> ../words'


def test_a_command_gets_the_end_as_json_and_in_its_environment(setup: Setup) -> None:
    setup.run(*setup.words(2), "--notify", TELL)
    (notice,) = _told(setup)
    expected = {
        "schema": 1,
        "event": "ended",
        "project": str(setup.folder),
        "turns": 2,
        "failures": 0,
        "cost_usd": 0.5,
    }
    assert {name: notice[name] for name in expected} == expected
    assert (setup.folder.parent / "words").read_text() == f"ended {notice['reason']}\n"


def test_only_what_is_asked_for_is_told_and_a_cap_is_an_end(setup: Setup) -> None:
    setup.run(*setup.words(1), "--notify", TELL, "--notify-on", "limit,cap")
    assert _told(setup) == []
    setup.run(*setup.words(9), "--notify", TELL, "--notify-on", "limit,cap", "--max-cost", "0.2")
    assert [(notice["event"], notice["reason"]) for notice in _told(setup)] == [("cap", "max_cost")]


class _Hook(BaseHTTPRequestHandler):
    got: list[dict[str, Any]]
    slow = 0.0

    def do_POST(self) -> None:
        time.sleep(self.slow)
        self.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        """Silence."""


@pytest.fixture
def hook() -> Iterator[tuple[str, type[_Hook]]]:
    handler = type("Hook", (_Hook,), {"got": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/secret-path", handler
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_webhook_of_the_environment_gets_the_same(setup: Setup, hook: tuple[str, type[_Hook]]) -> None:
    url, handler = hook
    done = setup.run(*setup.words(1), RALPH_BRIDGE_NOTIFY=f"{url}\n{TELL}\n")
    assert handler.got == _told(setup)
    assert [notice["event"] for notice in handler.got] == ["ended"]
    assert "secret-path" not in done.stdout + done.stderr + setup.told()


def test_an_address_that_fails_fails_no_loop_and_keeps_its_secret(setup: Setup) -> None:
    done = setup.run(*setup.words(1), "--notify", "http://127.0.0.1:9/secret-path", "--notify", "exit 3")
    assert done.returncode == setup.ends
    assert "secret-path" not in done.stdout + done.stderr + setup.told()
    assert "a notice (ended) could not be sent to http://127.0.0.1/...: URLError" in done.stderr
    assert "could not be sent to the command exit: exit status 3" in done.stderr


def test_apprise_tells_whom_it_knows_and_keeps_their_secrets(setup: Setup, hook: tuple[str, type[_Hook]]) -> None:
    url, handler = hook
    works = url.replace("http://", "json://user:secret-word@")
    fails = "json://user:secret-word@127.0.0.1:9/secret-path"
    done = setup.run(*setup.words(2), RALPH_BRIDGE_NOTIFY=f"{works}\n{fails}\n")
    assert done.returncode == setup.ends
    (message,) = handler.got
    assert message["title"] == "project: ended"
    assert "2 turns, 0 failed, " in message["message"]
    assert message["message"].endswith(" · 30 tokens · $0.50")
    assert "a notice (ended) could not be sent to json://127.0.0.1/...: refused" in done.stderr
    assert "secret" not in done.stdout + done.stderr + setup.told()


@pytest.mark.filterwarnings("ignore::DeprecationWarning:apprise")
def test_addresses_come_from_a_file_and_bad_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / "to").write_text("# nobody\nhttps://example.org/x\n\nnotify-me --now\n")
    assert read_notify({}, [f"@{tmp_path / 'to'}"]).addresses == ("https://example.org/x", "notify-me --now")
    for given, on, said in (
        (["@/nowhere"], "", "/nowhere"),
        (["true"], "end", "--notify-on end: expected some of ended, limit"),
        (["tgram://token/secret"], "", "apprise"),
    ):
        with pytest.raises(ConfigurationError, match=said) as refused:
            read_notify({}, given, on)
        assert "token/secret" not in str(refused.value)


@pytest.mark.parametrize("by", ["option", "option=", "environment", "file"])
def test_no_secret_of_an_address_is_put_down_or_given_to_the_agent(setup: Setup, by: str) -> None:
    address = "http://me:s3cr3t@127.0.0.1:9/s3cr3t/hook?token=s3cr3t#s3cr3t"
    cli = setup.folder / "bin" / "claude"
    cli.write_text(cli.read_text().replace("n=$((", "env > ../environment-$$; n=$((", 1))
    hook = setup.folder / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nenv > ../environment-of-git\n")
    hook.chmod(0o755)
    (setup.folder.parent / "addresses").write_text(address)
    words = {
        "option": ["--notify", address],
        "option=": [f"--notify={address}"],
        "file": ["--notify", "@../addresses"],
    }
    env = {"XDG_STATE_HOME": str(setup.folder.parent / "state")}
    if by == "environment":
        env["RALPH_BRIDGE_NOTIFY"] = address
    done = setup.run(*setup.words(1), *words.get(by, []), **env)
    assert "could not be sent to http://127.0.0.1/..." in done.stdout + done.stderr + setup.told()
    assert "s3cr3t" not in done.stdout + done.stderr
    assert setup.run("status", **env).returncode == 0
    files = [path for path in setup.folder.parent.rglob("*") if path.is_file() and path.name != "addresses"]
    assert "environment-of-git" in {path.name for path in files}
    assert [path for path in files if b"s3cr3t" in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("--notify=https://hooks.example.org/services/T0/B0/s3", "--notify=https://hooks.example.org/..."),
        ("--notify=tgram://s3cr3t/1", "--notify=tgram://.../..."),
        ("--notify=http://[s3cr3t", "--notify=http://.../..."),
        ("--notify=curl -H 'Authorization: s3cr3t' https://x", "--notify=the command curl"),
        ("--notify=", "--notify=the command "),
        ("--hub=https://me:s3cr3t@host/x.git", "--hub=https://...@host/x.git"),
        ("say https://s3cr3t@host", "say https://...@host"),
        ("--notify-on=ended", "--notify-on=ended"),
    ],
)
def test_a_command_line_is_put_down_without_secrets(word: str, shown: str) -> None:
    assert shown_words(["ralph-bridge", word]) == ["ralph-bridge", shown]


def test_no_program_gets_them_whoever_starts_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RALPH_BRIDGE_NOTIFY", "https://host/s3cr3t")
    script = tmp_path / "x.sh"
    script.write_text("show() { env; }\n")
    with Shell() as shell:
        shell.source(script)
        assert "s3cr3t" not in shell.call("show").stdout
    assert b"s3cr3t" not in ask(["env"], cwd=tmp_path, env=os.environ, patience=30).out
    with Program(["env"], cwd=tmp_path, env=os.environ, stderr_path=os.devnull) as program:
        assert not [line for line in program.lines() if b"s3cr3t" in line]
