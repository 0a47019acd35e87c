"""`--snapshot` with a folder or an archive: must-gather, support bundles, cluster-info dump."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gitbot.cli.shared import support_bundle
from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import KubernetesObject, with_value
from gitbot.snapshot import snapshot_file
from tests.doubles.problems import node, vm
from tests.unit.cli.desk import Said, typed

VMI, LAUNCHER = vm("db", on="n1")
FILES = {
    "must/cluster-scoped-resources/core/nodes/n1.yaml": node("n1"),
    "must/cluster-scoped-resources/core/nodes/n2.yaml": node("n2"),
    "must/namespaces/default/core/pods.yaml": {
        "apiVersion": "v1",
        "kind": "PodList",
        "items": [LAUNCHER],
    },
    "must/namespaces/default/pods/launcher/launcher.yaml": LAUNCHER,  # the same pod again
    "must/namespaces/default/kubevirt.io/virtualmachineinstances/db.json": VMI,
    "must/namespaces/default/core/events.yaml": {"apiVersion": "v1", "kind": "EventList"},
}
TEXTS = {
    **{name: json.dumps(obj) for name, obj in FILES.items()},
    "must/namespaces/default/pods/launcher/compute/current.log": "kind: Node\n",
    "must/broken.yaml": "kind: Node\nmetadata: [\n",
    "must/version": "v1.36.3\n",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def folder(texts: Mapping[str, str]) -> str:
    for name, text in texts.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return "must"


def archive(mode: str) -> Callable[[Mapping[str, str]], str]:
    def made(texts: Mapping[str, str]) -> str:
        with tarfile.open("must.archive", mode) as packed:  # type: ignore[call-overload]
            for name, text in texts.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                packed.addfile(entry, io.BytesIO(text.encode()))
            link = tarfile.TarInfo("must/link.yaml")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            packed.addfile(link)
        return "must.archive"

    return made


def explained(name: str) -> Said:
    return typed("explain", "db", "--snapshot", name)


@pytest.mark.parametrize("made", [folder, archive("w:gz"), archive("w")])
def test_a_folder_or_archive_is_read_object_by_object(
    made: Callable[[Mapping[str, str]], str],
) -> None:
    said = explained(made(TEXTS))
    assert said.code == 0, said.err
    assert "1 of 2 nodes takes it, the scheduler would choose n2" in said.out
    assert "7 files of YAML and JSON, " in said.err
    assert "not in it, so what depends on them is not known: CSIDriver, CSINode, " in said.err
    assert ", KubeVirt, " in said.err
    assert "warning: not read: " in said.err
    assert "broken.yaml:3:1: not YAML" in said.err


def test_names_that_lead_elsewhere_are_only_shown() -> None:
    texts = {f"../../{name}": text for name, text in TEXTS.items()}
    said = explained(archive("w:gz")(texts))
    assert "1 of 2 nodes takes it" in said.out
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["must.archive"]


def test_no_link_of_a_folder_is_followed() -> None:
    name = folder(TEXTS)
    Path("outside").mkdir()
    other: KubernetesObject = node("n3")
    Path("outside/n3.yaml").write_text(json.dumps(other))
    Path("must/linked").symlink_to(Path("outside").resolve())
    Path("must/n3.yaml").symlink_to(Path("outside/n3.yaml").resolve())
    assert "1 of 2 nodes takes it" in explained(name).out


def test_too_many_files_end_the_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support_bundle, "MAX_FILES", 3)
    said = explained(folder(TEXTS))
    assert said.code == 2
    assert "must: found more than 3 files of YAML and JSON" in said.err


def test_too_many_bytes_end_the_read(tmp_path: Path) -> None:
    name = folder(TEXTS)
    with pytest.raises(SnapshotError, match="found more than 100 bytes"):
        support_bundle.read_folder(name, 100)
    packed = Path(archive("w:gz")({"must/big.log": "0" * 10_000})).read_bytes()
    with pytest.raises(SnapshotError, match="unpacks to more than 800 bytes"):
        support_bundle.read_archive("big.tgz", packed, 100)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"must/a.log": "nothing"}, "found no YAML or JSON file among 1 files"),
        ({"must/a.yaml": "kind: Secret"}, "expected a ClusterSnapshot, or Kubernetes objects"),
    ],
)
def test_a_folder_without_objects_is_an_error(texts: Mapping[str, str], expected: str) -> None:
    said = explained(folder(texts))
    assert said.code == 2
    assert expected in said.err


def test_a_damaged_archive_is_an_error() -> None:
    name = archive("w")(TEXTS)
    Path(name).write_bytes(Path(name).read_bytes()[:1200])
    said = explained(name)
    assert said.code == 2
    assert "must.archive: damaged archive: " in said.err


def test_an_archive_that_was_cut_between_two_files_is_damaged() -> None:
    name = archive("w")(TEXTS)
    with tarfile.open(name) as packed:
        end = packed.getmembers()[4].offset  # the files before it are whole
    Path(name).write_bytes(Path(name).read_bytes()[:end])
    said = explained(name)
    assert said.code == 2
    assert "ends without the blocks that end an archive: copy it again" in said.err


def test_compressed_files_of_a_folder_are_read_and_damaged_ones_named() -> None:
    name = folder({"must/version": "v1"})
    for file, obj in FILES.items():
        path = Path(f"{file}.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(json.dumps(obj).encode()))
    Path("must/z.json.gz").write_bytes(Path(f"{next(iter(FILES))}.gz").read_bytes()[:40])
    said = explained(name)
    assert "1 of 2 nodes takes it" in said.out, said.text
    assert "7 files of YAML and JSON, 1 others" in said.err
    assert "not read: must/z.json.gz: damaged gzip: it ends early" in said.err


def test_compressed_files_share_the_limit_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    name = folder(TEXTS)
    monkeypatch.setattr(snapshot_file, "MAX_BYTES", 10_000)
    for each in "ab":
        packed = gzip.compress(json.dumps({**node(each), "x": "0" * 6_000}).encode())
        Path(f"must/{each}.json.gz").write_bytes(packed)
    said = explained(name)
    assert "must/b.json.gz: unpacks to more than " in said.err
    assert "must/a.json.gz: unpacks" not in said.err


def test_an_archive_in_a_folder_is_named() -> None:
    folder({"must/gathered.tar.gz": "x", "must/readme": "x"})
    said = explained("must")
    assert said.code == 2
    assert "must/gathered.tar.gz is an archive in it: give that one" in said.err


def test_files_of_two_clusters_are_not_mixed() -> None:
    """Each was gathered by itself; the second has the same names."""
    other = json.dumps(with_value(node("n1"), "other", "metadata", "uid"))
    said = explained(folder(TEXTS | {"must/second/nodes/n1.yaml": other}))
    assert said.code == 2
    assert "must/second/nodes/n1.yaml: found Node n1 of another cluster than in must/" in said.err
