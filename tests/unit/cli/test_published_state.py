"""People with rights on Git alone ask about the cluster as its bot published it."""

from pathlib import Path

import pytest

from tests.unit.cli.desk import at_desk, typed

ASKED = [
    pytest.param(["explain", "vm/jumpbox"], "jumpbox", id="explain"),
    pytest.param(["audit"], "kni-worker2", id="audit"),
    pytest.param(["simulate", "lose", "kni-worker"], "jumpbox", id="simulate"),
    pytest.param(["move", "vm/jumpbox", "--away", "--dry-run"], "jumpbox", id="move"),
]
INSTEAD = "this is about the snapshot that was published "


@pytest.mark.parametrize(("words", "name"), ASKED)
def test_without_a_kubeconfig_what_is_published_answers(
    words: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        live = desk.gitbot(*words)
        assert (name in live.out, INSTEAD in live.err) == (True, False), live.text
        with monkeypatch.context() as without:
            without.setenv("KUBECONFIG", str(tmp_path / "no-such-file"))
            said = desk.gitbot(*words)
            assert (said.code, "there is no kubeconfig" in said.err) == (2, True)
        assert desk.gitbot("reconcile").code == 0
        with monkeypatch.context() as without:
            without.setenv("KUBECONFIG", str(tmp_path / "no-such-file"))
            said = desk.gitbot(*words)
            assert (said.code, name in said.out) == (live.code, True), said.text
            assert INSTEAD in said.err
            asked = desk.gitbot(*words, "--published")
            assert (asked.code, name in asked.out) == (live.code, True), asked.text
            assert INSTEAD not in asked.err
            assert desk.gitbot("apply").code == 2


def test_a_published_snapshot_is_no_file() -> None:
    said = typed("explain", "vm/jumpbox", "--published", "--snapshot", "x.json")
    assert (said.code, "give --published or --snapshot, not both" in said.err) == (2, True)
