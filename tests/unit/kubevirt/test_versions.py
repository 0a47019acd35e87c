"""The versions that rules follow: gates by version, and the source of each module."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitbot.constraints.scheduler import versions as kubernetes
from gitbot.kubevirt import versions
from gitbot.kubevirt.kubevirt_object import gate
from tests import upstream

ROOT = Path(__file__).parents[3]
SOURCES = {**versions.SOURCES, **kubernetes.SOURCES}
FOLLOWING = set(" ".join(SOURCES.values()).split())


def kubevirt(version: str, **developer: list[str]) -> dict[str, Any]:
    configuration = {"developerConfiguration": developer}
    status = {"observedKubeVirtVersion": version}
    return {"spec": {"configuration": configuration}, "status": status}


@pytest.mark.parametrize(
    ("version", "on"),
    [("v1.8.4", False), ("v1.9.0", True), ("v1.9.7", True), ("v1.10.1", True), ("devel", True)],
)
def test_a_beta_gate_is_on_by_default_since_1_9(version: str, on: bool) -> None:
    assert gate(kubevirt(version), "ImageVolume") is on
    assert gate(kubevirt(version, featureGates=["ImageVolume"]), "ImageVolume")
    assert not gate(kubevirt(version, disabledFeatureGates=["ImageVolume"]), "ImageVolume")
    assert not gate(kubevirt(version), "Sidecar")


def test_every_module_with_a_source_exists_and_names_paths_of_go_source() -> None:
    assert all(re.fullmatch(r"(pkg|plugin|staging)/[\w./-]+", path) for path in SOURCES)
    for module in FOLLOWING:
        assert (ROOT / f"gitbot/{module.replace('.', '/')}.py").is_file(), module


def test_every_filter_score_and_rule_of_kubevirt_has_a_source() -> None:
    own = {"preflight", "movers", "unknown"}  # gitbot's own questions about what the others compute
    rooms = ("constraints/scheduler/filters", "constraints/scheduler/scores", "kubevirt")
    found = {path for room in rooms for path in (ROOT / "gitbot" / room).glob("[a-z]*.py")}
    names = {path.relative_to(ROOT / "gitbot").as_posix()[:-3] for path in found}
    dotted = {name.replace("/", ".") for name in names if name.rpartition("/")[2] not in own}
    assert dotted - FOLLOWING == set()


def test_no_other_module_repeats_the_version_that_is_followed() -> None:
    repeated = re.compile(r"KubeVirt v?1\.\d|kube-scheduler v?1\.\d+(?![.\d])|\"v1\.\d+\.\d+\"")
    assert [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "gitbot").rglob("*.py"))
        if path.name != "versions.py" and repeated.search(path.read_text(encoding="utf-8"))
    ] == []


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def test_the_command_names_what_changed_and_what_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = {"pkg/a.go": "a other", "pkg/b.go": "b", "pkg/c": "c"}
    git(tmp_path, "init", "-q", "--template=")
    git(tmp_path, "config", "user.name", "ann")
    git(tmp_path, "config", "user.email", "ann@example.com")
    (tmp_path / "pkg/c").mkdir(parents=True)
    for name in ("a.go", "b.go", "c/one.go", "c/one_test.go"):
        (tmp_path / "pkg" / name).write_text("one\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "v1")
    (tmp_path / "pkg/a.go").write_text("two\n")
    (tmp_path / "pkg/c/one_test.go").write_text("two\n")
    git(tmp_path, "rm", "-q", "pkg/b.go")
    git(tmp_path, "commit", "-qam", "two")
    git(tmp_path, "tag", "v2")
    assert upstream.report(str(tmp_path), "v1", "v2", sources) == 1
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line.startswith("pkg/")] == [
        "pkg/a.go: a other",
        "pkg/b.go (removed): b",
    ]
    assert upstream.report(str(tmp_path), "v1", "v1", sources) == 0
    words = ["kubevirt", "--data", str(tmp_path), "--to", "v2"]
    assert upstream.main(words) == 2  # this clone has no tag of KubeVirt
