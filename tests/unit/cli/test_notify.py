"""`gitbot notify test` against a real HTTP server on loopback."""

import hashlib
import hmac
import json
from pathlib import Path

import pytest

from gitbot.cli.main import main
from tests.contracts.cluster_server import Reply, ScriptedServer, Seen
from tests.doubles.intents import HEAD

ONE = "  notify: [{name: oncall}]\n"
TWO = "  notify: [{name: oncall}, {name: team-a, events: [Moved]}]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, more: str, clusters: str = "{name: iberia}") -> None:
    spec = f"kind: Configuration\nspec:\n  clusters: [{clusters}]\n{more}"
    (folder / ".gitbot.yaml").write_text(f"{HEAD}{spec}")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["notify", "test", *words])
    shown = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, shown.out + shown.err


def test_each_webhook_gets_a_signed_notice_that_says_it_is_a_test(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, TWO)
    monkeypatch.setenv("GITBOT_NOTIFY_ONCALL_KEY", "hush")
    with ScriptedServer(lambda seen: Reply(code=204 if seen.path == "/a" else 200)) as server:
        monkeypatch.setenv("GITBOT_NOTIFY_ONCALL_URL", f"{server.url}/a")
        monkeypatch.setenv("GITBOT_NOTIFY_TEAM_A_URL", f"{server.url}/b")
        first, again = said(capsys), said(capsys)
        asked = list(server.seen)
    assert first == again == (0, "webhook oncall: answer 204\nwebhook team-a: answer 200\n")
    assert [seen.path for seen in asked] == ["/a", "/b", "/a", "/b"]
    notice = asked[0].body
    assert (notice["event"], notice["cluster"], notice["kind"]) == ("Test", "iberia", "Notice")
    assert notice["text"] == "iberia: this is a test of gitbot's notices; nothing happened"
    keys = [seen.headers["idempotency-key"] for seen in asked]
    assert keys[0] == keys[1] == notice["id"] != keys[2]
    signed = [seen.headers.get("x-gitbot-signature-256", "") for seen in asked]
    body = json.dumps(notice, sort_keys=True, separators=(",", ":")).encode()
    assert signed[0] == f"sha256={hmac.new(b'hush', body, hashlib.sha256).hexdigest()}"
    assert signed[1] == ""


def test_one_that_refuses_keeps_no_other_from_its_notice(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(seen: Seen) -> Reply:
        return Reply(code=404 if seen.path == "/secret-a" else 202)

    write(folder, TWO)
    with ScriptedServer(answer) as server:
        monkeypatch.setenv("GITBOT_NOTIFY_ONCALL_URL", f"{server.url}/secret-a")
        monkeypatch.setenv("GITBOT_NOTIFY_TEAM_A_URL", f"{server.url}/b")
        code, text = said(capsys)
    assert (code, text) == (1, "webhook oncall: answer 404\nwebhook team-a: answer 202\n")


def test_an_address_that_is_missing_or_dead_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, TWO)
    monkeypatch.setenv("GITBOT_NOTIFY_TEAM_A_URL", "http://127.0.0.1:9/secret")
    code, text = said(capsys)
    assert code == 1
    variable = "GITBOT_NOTIFY_ONCALL_URL"
    assert f"webhook oncall: neither {variable} nor {variable}_FILE is set\n" in text
    assert "webhook team-a does not answer: Connection refused\n" in text


def test_address_and_key_may_be_in_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, ONE)
    with ScriptedServer(lambda _: Reply(code=204)) as server:
        (folder / "url").write_text(f"{server.url}/a\n")
        (folder / "key").write_text("hush\n")
        monkeypatch.setenv("GITBOT_NOTIFY_ONCALL_URL_FILE", str(folder / "url"))
        monkeypatch.setenv("GITBOT_NOTIFY_ONCALL_KEY_FILE", str(folder / "key"))
        assert said(capsys) == (0, "webhook oncall: answer 204\n")
        signed = server.seen[0].headers["x-gitbot-signature-256"]
        body = json.dumps(server.seen[0].body, sort_keys=True, separators=(",", ":")).encode()
    assert signed == f"sha256={hmac.new(b'hush', body, hashlib.sha256).hexdigest()}"
    monkeypatch.setenv("GITBOT_NOTIFY_ONCALL_URL_FILE", str(folder / "none"))
    code, text = said(capsys)
    assert code == 1
    assert "none cannot be read: No such file or directory" in text


@pytest.mark.parametrize(
    ("more", "clusters", "words"),
    [
        ("", "{name: iberia}", [".gitbot.yaml names no webhook"]),
        (ONE, "{name: a}, {name: b}", ["the configuration has several clusters"]),
        (ONE, "{name: iberia}", ["there is no cluster iberai", "--cluster", "iberai"]),
    ],
)
def test_what_cannot_be_tested_is_said_and_sends_nothing(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    more: str,
    clusters: str,
    words: list[str],
) -> None:
    write(folder, more, clusters)
    why, *options = words
    code, text = said(capsys, *options)
    assert code == 2
    assert why in text


def test_the_notice_has_the_words_of_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, ONE)
    (folder / "templates").mkdir()
    template = folder / "templates/notice.txt.j2"
    with ScriptedServer(lambda _: Reply(code=200)) as server:
        monkeypatch.setenv("GITBOT_NOTIFY_ONCALL_URL", server.url)
        template.write_text("[{{ severity }}] {{ event }} on {{ cluster }}{{ vm }}\n")
        assert said(capsys)[0] == 0
        template.write_text("{{ nobody }}\n")
        _, told = said(capsys)
        words, own = [seen.body["text"] for seen in server.seen]
    assert words == "[Info] Test on iberia"
    assert own.startswith("iberia: this is a test")
    assert "templates/notice.txt.j2:1: found a template that ends with UndefinedError" in told
