"""What `make controlplane` builds and finds, without building it. Needs no Go."""

import re
from pathlib import Path

import pytest

from tests.controlplane import build

ETCD = build.MAINS[0]


@pytest.fixture
def no_go(monkeypatch: pytest.MonkeyPatch) -> None:
    build.go_version.cache_clear()
    monkeypatch.setattr("shutil.which", lambda _name: None)


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(build, "ASSETS", str(tmp_path))
    return tmp_path


def _program(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_without_go_and_without_assets_one_line_says_so(
    no_go: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "ASSETS", "")
    assert build.missing() == "Go is not installed and KUBEBUILDER_ASSETS names no folder with it"
    assert build.main([]) == 1
    assert capsys.readouterr().err == f"controlplane: {build.missing()}\n"
    assert build.programs() == {}


def test_assets_are_used_as_they_are(no_go: None, assets: Path) -> None:
    for main in build.MAINS:
        _program(assets, main.name)
    assert build.missing() == ""
    assert "Go is not installed" in build.missing("oracle")  # nobody ships it
    found = build.programs()
    assert found["etcd"] == assets / "etcd"
    assert "oracle" not in found


def test_part_of_the_assets_is_not_enough_without_go(no_go: None, assets: Path) -> None:
    _program(assets, "etcd")
    _program(assets, "kube-apiserver")
    assert "Go is not installed" in build.missing()
    assert set(build.programs()) == {"etcd", "kube-apiserver"}


def test_gitea_needs_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "go_version", lambda: "1.26.2")
    monkeypatch.setattr("shutil.which", lambda name: None if name == "gcc" else name)
    assert build.missing("gitea") == "a C compiler (gcc) is not installed"
    assert build.missing("helm") == ""


def test_a_file_that_cannot_be_run_is_no_asset(assets: Path) -> None:
    (assets / "etcd").write_text("", encoding="utf-8")
    assert build.from_assets(ETCD) is None


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({"XDG_CACHE_HOME": "{tmp}/cache"}, "{tmp}/cache/gitbot/controlplane"),
        ({"HOME": "{tmp}"}, "{tmp}/.cache/gitbot/controlplane"),
        ({}, str(build.TEMPORARY)),
        ({"HOME": "/dev/null"}, str(build.TEMPORARY)),
    ],
)
def test_the_cache_folder(environment: dict[str, str], wanted: str, tmp_path: Path) -> None:
    given = {key: value.format(tmp=tmp_path) for key, value in environment.items()}
    assert build.cache_folder(given) == Path(wanted.format(tmp=tmp_path))


def test_a_program_has_a_place_of_its_sources_and_its_go(monkeypatch: pytest.MonkeyPatch) -> None:
    place = build.built(ETCD, "1.26.0")
    assert place.name == "etcd"
    assert build.built(ETCD, "1.26.0") == place
    assert build.built(ETCD, "1.26.1") != place
    assert build.built(build.MAINS[1], "1.26.0") != place


def test_the_pins_agree_with_each_other() -> None:
    text = (build.MODULE / "go.mod").read_text("utf-8")
    kubernetes = re.findall(r"(?m)^\s+k8s\.io/kubernetes (v1\.36\.\d+)$", text)
    staged = set(re.findall(r"=> k8s\.io/\S+ (v\S+)", text))
    assert staged == {kubernetes[0].replace("v1.", "v0.")}
    assert re.search(r"(?m)^\s+go\.etcd\.io/etcd/server/v3 v3\.6\.8$", text)
