"""A page in a real browser: headless Chromium, spoken to through a pipe (the Chrome DevTools Protocol)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    "--remote-debugging-pipe",
)


class Page:
    """One tab.

    Attributes:
        messages: what stood in its console, and errors of its scripts.
        requests: what it has asked for, from anywhere, itself aside.
    """

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers = to, answers
        self._rest = b""
        self._number = 0
        self._session = ""
        self._events: list[str] = []
        self.messages: list[Any] = []
        self.requests: list[str] = []

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Ask the browser for something; return its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, path: Path) -> None:
        """Show a file, and wait for all of it."""
        if not self._session:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Network", "Log", "Runtime"):
                self.call(f"{domain}.enable")
        self._events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while "Page.loadEventFired" not in self._events:
            self._next()
        self.requests = [url for url in self.requests if url != path.as_uri()]

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Give the window another size, and the light or the dark theme."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def ask(self, expression: str) -> Any:
        """Give the value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write what is to be seen as a PNG; `whole`: all of the page, and not only the window."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._answers, 1 << 20)
            assert data, "the browser has gone"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        method, facts = message.get("method", ""), message.get("params", {})
        self._events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])
        elif method in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.messages.append(facts)
        return message


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Start Chromium for a block; its profile lies in `folder`."""
    assert PROGRAM is not None
    commands, to = os.pipe()
    answers, results = os.pipe()
    arguments = [PROGRAM, *FLAGS, f"--user-data-dir={folder}"]
    # The protocol has its own descriptors, 3 and 4.
    script = f'exec "$@" 3<&{commands} 4>&{results}'
    with open(folder / "stderr", "wb") as errors:
        process = subprocess.Popen(
            ["bash", "-c", script, "-", *arguments],
            pass_fds=(commands, results),
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
        )
    os.close(commands)
    os.close(results)
    try:
        yield Page(to, answers)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(to)
        os.close(answers)
