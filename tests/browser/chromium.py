"""Headless Chromium, spoken to over its DevTools protocol on loopback."""

import base64
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import websocket

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-port=0", "--remote-allow-origins=*",
)  # fmt: skip


def program() -> str | None:
    """The browser on this machine, None without one."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def missing() -> str:
    """Why pages cannot be looked at here, "" where they can."""
    return "" if program() else f"no browser is installed ({', '.join(PROGRAMS)})"


class Page:
    """One open page."""

    def __init__(self, socket: websocket.WebSocket) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.complaints: list[str] = []
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """One DevTools command and its result; console complaints on the way are kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv())
            self._keep(answer)
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path: Path) -> None:
        """Open a file and wait until it is drawn."""
        self.call("Page.navigate", url=path.as_uri())
        self.until("document.readyState === 'complete'")

    def until(self, condition: str, *, seconds: int = 60) -> None:
        """Wait until an expression holds."""
        deadline = time.monotonic() + seconds
        while not self.value(condition):
            if time.monotonic() > deadline:
                raise AssertionError(f"never came true in the page: {condition}")
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """What an expression gives in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def scheme(self, name: str) -> None:
        """`light` or `dark`, as the person's system asks for it."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def medium(self, name: str) -> None:
        """`print`, or "" for the screen."""
        self.call("Emulation.setEmulatedMedia", media=name)

    def width(self, pixels: int) -> None:
        """The width of the window."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=pixels, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def screenshot(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def _keep(self, answer: dict[str, Any]) -> None:
        if answer.get("method") == "Log.entryAdded":
            self.complaints.append(answer["params"]["entry"]["text"])
        if answer.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(answer["params"]["exceptionDetails"]))


@contextmanager
def opened(profile: Path) -> Iterator[Page]:
    """A page of a browser of its own, with an empty profile; both are gone afterwards."""
    found = program()
    assert found, missing()
    process = subprocess.Popen(
        [found, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        socket = websocket.create_connection(_address(profile, process), timeout=60)
        try:
            yield Page(socket)
        finally:
            socket.close()
    finally:
        process.terminate()
        process.wait(timeout=30)


def _address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the first page listens, as the browser writes it into its profile."""
    import urllib.request  # noqa: PLC0415 - only here

    file = profile / "DevToolsActivePort"
    deadline = time.monotonic() + 60
    while not (file.exists() and "\n" in file.read_text()):
        assert process.poll() is None, "the browser ended at its start"
        assert time.monotonic() < deadline, "the browser never listened"
        time.sleep(0.05)
    port = int(file.read_text().split("\n", maxsplit=1)[0])
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=60) as answer:
        pages = [page for page in json.load(answer) if page["type"] == "page"]
    address: str = pages[0]["webSocketDebuggerUrl"]
    return address
