"""The listener on loopback: what it answers, and what a bad client cannot do."""

import http.client
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gitbot.errors import UsageError
from gitbot.service import (
    ALIVE,
    Address,
    Bell,
    PageServer,
    ServedPages,
    WakeCalls,
    parse_address,
)
from gitbot.service import server as listener
from gitbot.wiring import seconds_counted
from tests.controlplane.waiting import eventually

KIND = "text/plain; version=1.0.0"


class Bot:
    """What the passes left behind."""

    line = "starting\n"
    age = 0.0
    files: dict[str, bytes] | None = None

    def pages(self) -> ServedPages:
        return ServedPages(
            health=lambda: self.line,
            beaten=lambda: self.age,
            metrics=lambda: (KIND, b"gitbot_healthy 1\n"),
            site=lambda path: b"" if self.files is None else self.files.get(path),
        )


@pytest.fixture
def bot() -> Bot:
    return Bot()


@pytest.fixture
def server(bot: Bot) -> Iterator[PageServer]:
    with PageServer(parse_address("0"), bot.pages(), seconds_counted) as serving:
        yield serving


def ask(server: PageServer, path: str, method: str = "GET", host: str = "") -> tuple[int, str, str]:
    """Status, type and body."""
    connection = http.client.HTTPConnection(str(server.address), timeout=30)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    said = (answer.status, answer.getheader("Content-Type") or "", answer.read().decode())
    connection.close()
    return said


def test_metrics_are_what_the_last_pass_left(server: PageServer) -> None:
    assert server.address.host == "127.0.0.1"
    assert ask(server, "/metrics?x=1") == (200, KIND, "gitbot_healthy 1\n")
    assert ask(server, "/metrics", "HEAD") == (200, KIND, "")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("starting\n", 503),
        ("ok 2027-01-15T08:00:00Z\n", 200),
        ("ok 2027-01-15T08:00:00Z stopped: smoke (ana)\n", 200),
        ("failing 2027-01-15T08:00:00Z the ledger is gone\n", 503),
    ],
)
def test_ready_is_the_line_of_the_health_file(
    server: PageServer, bot: Bot, line: str, status: int
) -> None:
    bot.line = line
    assert ask(server, "/readyz") == (status, "text/plain; charset=utf-8", line)


def test_a_loop_without_a_heartbeat_is_not_alive(server: PageServer, bot: Bot) -> None:
    bot.age = ALIVE - 1
    assert ask(server, "/healthz")[0] == 200
    bot.age = ALIVE + 1
    status, _, said = ask(server, "/healthz")
    assert (status, said.split(":")[0]) == (503, "hangs")


def test_a_page_that_fails_says_so_and_prints_nothing(
    server: PageServer,
    bot: Bot,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bot, "age", "young")
    assert ask(server, "/healthz")[::2] == (
        500,
        "BUG: this page failed: ValueError: Unknown format code 'f' for object of type 'str'\n",
    )
    assert ask(server, "/metrics")[0] == 200
    assert capsys.readouterr().err == ""


def test_pages_are_files_by_their_paths(server: PageServer, bot: Bot) -> None:
    assert ask(server, "/") == (
        503,
        "text/plain; charset=utf-8",
        "starting: no pass has ended yet\n",
    )
    bot.files = {"index.html": b"all", "iberia/index.html": b"one", "iberia/map.json": b"{}"}
    html = "text/html; charset=utf-8"
    assert ask(server, "/?x=1") == ask(server, "/index.html") == (200, html, "all")
    assert ask(server, "/iberia/") == (200, html, "one")
    assert ask(server, "/iberia/map.json") == (200, "application/json", "{}")
    assert ask(server, "/iberia/", "HEAD") == (200, html, "")


def test_no_answer_may_load_or_frame_anything(server: PageServer) -> None:
    connection = http.client.HTTPConnection(str(server.address), timeout=30)
    connection.request("GET", "/metrics")
    headers = dict(connection.getresponse().getheaders())
    connection.close()
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "script" not in policy
    assert "frame-ancestors 'none'" in policy
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")


def test_it_has_no_other_page_and_takes_no_write(server: PageServer, bot: Bot) -> None:
    bot.files = {}
    for path in ("/", "/metrics/", "/../etc/passwd"):
        assert ask(server, path)[0] == 404
    for method in ("POST", "PUT", "DELETE"):
        assert ask(server, "/metrics", method)[0] == 501


def connect(server: PageServer) -> socket.socket:
    address = (server.address.host, server.address.port)
    return socket.create_connection(address, timeout=30)


def answered(client: socket.socket) -> bytes:
    """What comes before the connection ends; a reset is an end as well."""
    try:
        return client.recv(100)
    except ConnectionError:
        return b""


def test_clients_that_say_nothing_keep_no_other_client_waiting(
    server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = server._listener._since
    idle = [connect(server) for _ in range(listener.CONNECTIONS - 1)]
    try:
        assert ask(server, "/readyz")[0] == 503
        eventually(lambda: len(known) == len(idle))  # the answered one has ended here, too
        idle.append(connect(server))
        for client in idle:
            client.sendall(b"GET /metr")
        further = connect(server)
        assert answered(further) == b"", "one more than there may be is closed at once"
        further.close()
        monkeypatch.setattr(listener, "LONGEST", 0.0)  # all of them have had their time
        assert b"HTTP/1.0 200" not in b"".join(answered(client) for client in idle)
        eventually(lambda: not known)
    finally:
        for client in idle:
            client.close()


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        ("8080", "127.0.0.1", 8080, "127.0.0.1:8080"),
        ("0.0.0.0:9", "0.0.0.0", 9, "0.0.0.0:9"),
        ("[::1]:0", "::1", 0, "[::1]:0"),
    ],
)
def test_an_address_is_a_port_of_loopback_or_says_its_ip(
    text: str, host: str, port: int, shown: str
) -> None:
    assert parse_address(text) == Address(host=host, port=port)
    assert str(parse_address(text)) == shown


@pytest.mark.parametrize("text", ["", ":8080", "localhost:8080", "1.2.3:80", "65536", "-1", "8O", "٣"])  # fmt: skip  # noqa: E501
def test_an_address_that_leaves_something_open_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected IP:PORT, or a port of 127"):
        parse_address(text)


def test_a_port_that_is_taken_is_said(server: PageServer, bot: Bot) -> None:
    with pytest.raises(UsageError, match="cannot listen on 127"):
        PageServer(server.address, bot.pages(), seconds_counted)


def post(server: PageServer, path: str, body: bytes, **headers: str) -> int:
    connection = http.client.HTTPConnection(str(server.address), timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", path, body=body, headers=named)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_forge_may_call_at_one_address_with_its_secret(bot: Bot) -> None:
    bell = Bell()
    pages = replace(bot.pages(), calls=WakeCalls("between us", bell.ring))
    with PageServer(parse_address("0"), pages, seconds_counted) as server:
        assert post(server, "/webhook", b"{}", X_Gitlab_Token="wrong") == 401
        assert post(server, "/", b"{}", X_Gitlab_Token="between us") == 501
        assert not bell.has_rung()
        assert post(server, "/webhook", b"{}", X_Gitlab_Token="between us") == 202
        assert (bell.has_rung(), bell.has_rung()) == (True, False)


def test_without_a_secret_nobody_may_call(server: PageServer) -> None:
    assert post(server, "/webhook", b"{}", X_Gitlab_Token="") == 501


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8080", 200),
        ("127.0.0.2:8080", 200),
        ("[::1]:8080", 200),
        ("evil.example:8080", 403),
        ("127.0.0.1.evil.example", 403),
        ("192.0.2.7", 403),
    ],
)
def test_pages_of_this_machine_answer_to_no_other_name(bot: Bot, host: str, status: int) -> None:
    bot.files = {"index.html": b"all"}
    pages = replace(bot.pages(), this_machine_only=True)
    with PageServer(parse_address("0"), pages, seconds_counted) as server:
        assert ask(server, "/", host=host)[0] == status
        assert ask(server, "/metrics", host=host)[0] == 200
