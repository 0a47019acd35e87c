"""Notices by mail to a real SMTP server, and by a chat's own protocol; no address is printed."""

import json
import socket
import sys
from collections.abc import Iterator
from email import message_from_bytes, policy
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest

from gitbot.adapters import apprise_targets
from gitbot.adapters.webhooks import Webhooks
from gitbot.errors import NoticeError
from tests.contracts.cluster_server import Reply, ScriptedServer
from tests.doubles.tiny_cluster import TestClock

TEXT = "prod: team-a/<b>db-1</b> did not move from n1 to n2"
BODY = json.dumps({"cluster": "prod", "event": "Failed", "text": TEXT}).encode()


class MailServer(ThreadingTCPServer):
    """Takes mail; `refuses` answers 550 to each recipient."""

    daemon_threads = True

    def __init__(self, *, refuses: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), MailConversation)
        self.refuses = refuses
        self.mails: list[bytes] = []
        self.recipients: list[str] = []

    @property
    def address(self) -> str:
        mail = "from=gitbot@example.org&to=night-secret@example.org&mode=insecure"
        return f"mailto://127.0.0.1:{self.server_address[1]}?{mail}"


class MailConversation(StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.say("220 here")
        for line in self.rfile:
            match line[:4].upper():
                case b"RCPT":
                    self.server.recipients.append(line.decode().strip())
                    self.say("550 no" if self.server.refuses else "250 ok")
                case b"DATA":
                    self.say("354 go on")
                    self.server.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")))
                    self.say("250 ok")
                case b"QUIT":
                    self.say("221 bye")
                    return
                case _:
                    self.say("250 ok")

    def say(self, line: str) -> None:
        self.wfile.write(line.encode() + b"\r\n")


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


def send(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("GITBOT_NOTIFY_ON_CALL_URL", url)
    Webhooks(TestClock()).send("on-call", "placement/7", BODY)


def test_a_notice_is_a_mail(monkeypatch: pytest.MonkeyPatch, mail: MailServer) -> None:
    send(monkeypatch, mail.address)
    (sent,) = mail.mails
    read = message_from_bytes(sent, policy=policy.default)
    assert mail.recipients == ["rcpt TO:<night-secret@example.org>"]
    assert (read["Subject"], read.get_content().strip()) == ("gitbot prod: Failed", TEXT)
    assert read.get_content_type() == "text/plain"


def test_a_chat_gets_the_text_by_its_own_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(lambda _: Reply()) as server:
        send(monkeypatch, f"mmost://{server.url.removeprefix('http://')}/{'a' * 24}")
        (seen,) = server.seen
    assert seen.path == f"/hooks/{'a' * 24}"
    assert TEXT in str(seen.body)


def test_what_is_not_taken_is_an_error_without_the_address(
    monkeypatch: pytest.MonkeyPatch, mail: MailServer, capfd: pytest.CaptureFixture[str]
) -> None:
    mail.refuses = True
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    for url, why in (
        (mail.address, "does not take the notice"),
        (f"mailto://secret:secret@127.0.0.1:{free}?from=a@b.org&mode=insecure", "does not take"),
        ("nonsense://secret", "is neither http nor an address that apprise understands"),
        ("file:///secret", "is neither http nor an address that apprise understands"),
    ):
        with pytest.raises(NoticeError, match=why) as error:
            send(monkeypatch, url)
        assert str(error.value).startswith("webhook on-call: GITBOT_NOTIFY_ON_CALL_URL ")
        assert "secret" not in str(error.value)
    assert "secret" not in "".join(capfd.readouterr())


def test_one_that_hangs_costs_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apprise_targets, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(NoticeError, match="gave no answer within"):
            send(monkeypatch, f"mailto://127.0.0.1:{port}?from=a@b.org&to=a@b.org&mode=insecure")


def test_without_apprise_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(NoticeError, match=r"pip install 'kubevirt-gitbot\[notify\]'"):
        send(monkeypatch, "mailto://mail.example.org")
