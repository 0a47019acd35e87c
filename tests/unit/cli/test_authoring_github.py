"""`gitbot move`, `drain` and `keep-apart` in a clone of a repository on GitHub."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitbot.adapters.clock import SystemClock
from gitbot.simulation.http import ApiServer, write_kubeconfig
from gitbot.snapshot import from_objects, write_snapshot
from tests.doubles.customapp import customapp
from tests.doubles.github.scene import REPOSITORY, Scene
from tests.doubles.intents import CONFIGURATION
from tests.doubles.problems import node, vm
from tests.scenarios.small_clusters import flat, kubevirt
from tests.unit.cli.desk import typed

GITHUB = f"  forge: {{type: github, repository: {REPOSITORY}, baseBranch: main}}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """alice in her clone, with her token; the cluster is served on a port of 127.0.0.1."""

    scene: Scene
    face: ApiServer

    def pulls(self) -> list[Any]:
        found: list[Any] = self.scene.ask("bob", "GET", "~/pulls")
        return found

    def file(self, branch: str, path: str) -> Any:
        git = self.scene.github.repository(REPOSITORY).git
        return yaml.safe_load(git.blob(f"{git.resolve(branch)}:intents/iberia/{path}"))

    def branches(self) -> list[str]:
        heads = "refs/heads/"
        refs = self.scene.github.repository(REPOSITORY).git.refs()
        return [ref.removeprefix(heads) for ref in refs if ref.startswith(heads)]

    def writes_to_the_cluster(self) -> int:
        with self.face.lock:
            return len(self.face.cluster.list("VirtualMachineInstanceMigration", "customapp"))


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    scene = Scene.make(tmp_path)
    with scene.server:
        scene.clock.present = SystemClock().now()
        text = CONFIGURATION.replace("CLUSTER", "iberia") + GITHUB
        scene.commit("main", {".gitbot.yaml": text})
        cluster = customapp(step=2, jumpbox=True, start_time=scene.clock.now())
        with ApiServer(cluster) as face:
            code, said = scene.git("clone", "-q", "@", "work", token=scene.tokens["alice"])
            assert code == 0, said
            tree = tmp_path / "work"
            for key, value in (("user.name", "Alice"), ("user.email", "alice@example.org")):
                subprocess.run(["git", "config", key, value], cwd=tree, check=True)
            path = write_kubeconfig(tmp_path / "kubeconfig", server=face.url, context="iberia")
            monkeypatch.chdir(tree)
            monkeypatch.setenv("KUBECONFIG", str(path))
            monkeypatch.setenv("GITHUB_TOKEN", scene.tokens["alice"])
            monkeypatch.setenv("GITHUB_API_URL", scene.server.api)
            yield Office(scene=scene, face=face)


ASKED = [
    (("move", "vm/jumpbox", "-n", "customapp", "--to", "kni-worker5", "--reason", "maintenance"),
     "Move customapp/jumpbox to kni-worker5", "move/customapp-move-jumpbox",
     "customapp/move-jumpbox.yaml",
     {"vms": {"names": ["jumpbox"]}, "target": {"node": "kni-worker5"}, "reason": "Maintenance"}),
    (("drain", "kni-worker6", "--start", "2199-01-01T22:00", "--for", "4h", "--return", "never"),
     "Empty kni-worker6 from 2199-01-01 22:00 Europe/Madrid", "drain/drain-kni-worker6",
     "drain-kni-worker6.yaml",
     {"nodes": {"names": ["kni-worker6"]}, "schedule": {"start": "2199-01-01T22:00",
      "timeZone": "Europe/Madrid", "duration": "PT4H"}, "drain": {"lead": "Auto"},
      "returnHome": "Never"}),
    (("keep-apart", "-l", "kubevirt.io/domain=mssql2016", "-n", "customapp", "--zones"),
     "Keep VMs with kubevirt.io/domain=mssql2016 in customapp apart: at most 1 in a zone",
     "rule/customapp-mssql2016-apart", "customapp/mssql2016-apart.yaml",
     {"selector": {"matchLabels": {"kubevirt.io/domain": "mssql2016"}}}),
]  # fmt: skip


@pytest.mark.parametrize("asked_for", ASKED, ids=[asked[0][0] for asked in ASKED])
def test_three_words_become_a_pull_request_of_the_person(
    office: Office, asked_for: tuple[tuple[str, ...], str, str, str, Any]
) -> None:
    words, title, branch, path, spec = asked_for
    migrations = office.writes_to_the_cluster()
    tried = typed(*words, "--note", "rack 7", "--dry-run")
    assert tried.code == 0, tried.text
    assert tried.out.startswith(f"# intents/iberia/{path}\napiVersion: placement.gitbot.dev")
    assert "\niberia: " in tried.out
    assert office.pulls() == []
    assert office.branches() == ["main"]
    asked = typed(*words, "--note", "rack 7")
    assert asked.code == 0, asked.text
    (pull,) = office.pulls()
    seen = (pull["title"], pull["body"], pull["user"]["login"], pull["head"]["ref"])
    assert seen == (title, "rack 7", "alice", branch)
    spec = {**spec, "note": "rack 7"} if words[0] in ("move", "drain") else spec
    assert office.file(branch, path)["spec"] == spec
    address = f"{office.scene.server.url}/{REPOSITORY}/pull/{pull['number']}"
    line = f"pull request #{pull['number']}: {title}; next: review and merge {address}\n"
    assert asked.out.endswith(line)
    again = typed(*words, "--note", "once more")
    assert "a pull request that asks for this is open already" in again.out
    assert again.out.endswith(line)
    assert len(office.pulls()) == 1
    assert f"by alice is open: {title}; next: review and merge {address}" in typed("status").out
    assert office.writes_to_the_cluster() == migrations


def test_what_cannot_be_done_leaves_no_branch(office: Office) -> None:
    refused = typed("move", "vm/jumpbox", "--zone", "nowhere")
    assert refused.code == 1
    assert "nothing was written" in refused.err
    assert office.pulls() == []
    assert office.branches() == ["main"]


def test_a_token_without_the_right_is_told_so(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", office.scene.tokens["rita"])
    refused = typed("move", "vm/jumpbox", "--to", "kni-worker5")
    assert refused.code == 2
    assert refused.err.startswith("error: ")
    assert "Traceback" not in refused.text
    assert office.pulls() == []


def test_pins_are_taken_out_of_manifests(office: Office) -> None:
    here = {"kubernetes.io/hostname": "kni-worker5"}
    machine = {
        "kind": "VirtualMachine",
        "metadata": {"name": "jumpbox", "namespace": "customapp"},
        "spec": {"template": {"spec": {"nodeSelector": here, "domain": {}}}},
    }
    text = CONFIGURATION.replace("CLUSTER", "iberia") + GITHUB + "  manifests: [{path: vms}]\n"
    files = {".gitbot.yaml": text, "vms/jump.yaml": yaml.safe_dump(machine)}
    office.scene.commit("main", files)
    jumpbox = vm("jumpbox", on="kni-worker5", namespace="customapp", node_selector=here)
    objects = flat([kubevirt(), node("kni-worker5"), jumpbox])
    snapshot = write_snapshot(from_objects("iberia", objects, office.scene.clock.now()))
    Path("cluster.json").write_bytes(snapshot)
    said = typed("audit", "--snapshot", "cluster.json", "--propose", "-n", "customapp")
    (pull,) = office.pulls()
    title = "Unpin 1 VM: customapp/jumpbox"
    assert (pull["title"], pull["user"]["login"]) == (title, "alice")
    assert f"pull request #{pull['number']}: {title}; next: review and merge" in said.out
    git = office.scene.github.repository(REPOSITORY).git
    left = yaml.safe_load(git.blob(f"{git.resolve(pull['head']['ref'])}:vms/jump.yaml"))
    assert left["spec"] == {"template": {"spec": {"domain": {}}}}
