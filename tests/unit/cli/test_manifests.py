"""Where audit finds the VM manifests: plain files, Kustomize, another repository at a branch."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gitbot.adapters.kustomize import build_kustomization
from gitbot.documents import read_kubernetes_yaml
from gitbot.errors import InvalidInput
from tests.doubles.problems import node, vm
from tests.scenarios.small_clusters import flat, kubevirt
from tests.unit.cli.desk import Said, typed

KUBECTL = Path(sys.executable).parent / "kubectl"
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: default}
spec:
  runStrategy: Always
  template:
    spec: {domain: {devices: {}}, nodeSelector: {disk: %s}}
"""
BASE = "resources: [web.yaml]\n"
OVERLAY = """\
resources: [../base]
patches:
- target: {kind: VirtualMachine}
  patch: |-
    - {op: replace, path: /spec/template/spec/nodeSelector/disk, value: ssd}
"""
CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  clusters: [{name: prod, timeZone: UTC}]
  manifests: [{path: vms%s}]
"""


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository next to a cluster whose VM asks for an SSD."""
    root = tmp_path / "intents"
    objects = flat([kubevirt(), node("n-1"), vm("web", on="n-1", node_selector={"disk": "ssd"})])
    live = {"kind": "List", "items": [*objects, *read_kubernetes_yaml((VM % "ssd").encode(), "")]}
    write(root, {".gitbot.yaml": CONFIGURATION % "", "cluster.yaml": json.dumps(live)})
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "remote", "add", "origin", str(root))
    commit(root)
    monkeypatch.chdir(root)
    return root


def git(root: Path, *words: str) -> str:
    person = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    command = ["git", *person, *words]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "x")


def audited() -> Said:
    return typed("audit", "--snapshot", "cluster.yaml", "-o", "name", "--rule", "audit/git-differs")


DRIFT = "virtualmachine/web\n"
LAYERS = {
    "vms/base/web.yaml": VM % "hdd",
    "vms/base/kustomization.yaml": BASE,
    "vms/prod/kustomization.yaml": OVERLAY,
}


def test_plain_files(tree: Path) -> None:
    write(tree, {"vms/web.yaml": VM % "hdd"})
    assert audited().out == DRIFT
    write(tree, {"vms/web.yaml": VM % "ssd"})
    said = audited()
    assert (said.out, said.err) == ("", "")


def test_an_overlay_is_built_and_its_base_is_not_a_manifest(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not KUBECTL.exists():
        pytest.skip("kubectl is not installed")
    monkeypatch.setenv("PATH", f"{KUBECTL.parent}{os.pathsep}{os.environ['PATH']}")
    write(tree, LAYERS)
    said = audited()
    assert (said.out, said.err) == ("", "")
    write(tree, {"vms/prod/kustomization.yaml": OVERLAY.replace("ssd", "nvme")})
    assert audited().out == DRIFT
    write(tree, {"vms/prod/kustomization.yaml": "resources: [../missing]\n"})
    assert "not audited: vms/prod/kustomization.yaml: Kustomize: " in audited().err


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("prod", "resources: [ADDRESS/base.yaml]\n", "ADDRESS/base.yaml"),
        ("prod", "resources: [github.com/acme/vms?ref=v1]\n", "github.com/acme/vms?ref=v1"),
        ("prod", "components: ['git@github.com:acme/vms']\n", "git@github.com:acme/vms"),
        ("prod", "resources: [../base]\npatches: [{path: ADDRESS/p.yaml}]\n", "ADDRESS/p.yaml"),
        ("prod", "configMapGenerator: [{name: a, files: [x=ADDRESS/f]}]\n", "ADDRESS/f"),
        ("prod", "resources: [ADDRESS/a.yaml]\nresources: [ADDRESS/b.yaml]\n", ""),
        ("base", "resources: [web.yaml]\ncrds: [ADDRESS/crd.json]\n", "ADDRESS/crd.json"),
    ],
)  # fmt: skip
def test_a_remote_base_is_named_and_not_fetched(
    tree: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, name: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        write(tree, LAYERS | {f"vms/{file}/kustomization.yaml": text.replace("ADDRESS", address)})
        monkeypatch.setenv("PATH", f"{KUBECTL.parent}{os.pathsep}{os.environ['PATH']}")
        said = audited()
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
    path = f"vms/{file}/kustomization.yaml"
    told = f"not audited: {path}: Kustomize: "
    if name:  # else it cannot be read here, so Kustomize must not read it
        told = (
            f"{name.replace('ADDRESS', address)} in {path}: no such file here, and gitbot fetches"
        )
    assert told in said.err, said.err


@pytest.mark.skipif(not KUBECTL.exists(), reason="kubectl is not installed")
def test_kustomize_itself_reaches_no_git_remote(tmp_path: Path) -> None:
    """Whatever a plug-in's own configuration names."""
    other = tmp_path / "machines"
    write(other, LAYERS)
    git(other, "init", "--quiet", "--initial-branch=main")
    commit(other)
    write(tmp_path / "here", {"kustomization.yaml": f"resources: ['file://{other}//vms/base']\n"})
    with pytest.raises(InvalidInput):
        build_kustomization((str(KUBECTL), "kustomize"), tmp_path / "here")


def test_without_kustomize_it_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitbot.adapters.kustomize._PROGRAMS", (("no-kustomize", "build"),))
    write(tree, LAYERS)
    said = audited()
    assert said.out == ""
    line = "vms/prod/kustomization.yaml: Kustomize: neither kustomize nor kubectl is installed"
    assert line in said.err


def test_another_repository_at_a_branch_tag_or_commit(tree: Path, tmp_path: Path) -> None:
    other = tmp_path / "machines"
    write(other, {"vms/web.yaml": VM % "hdd"})
    git(other, "init", "--quiet", "--initial-branch=main")
    commit(other)
    git(other, "checkout", "--quiet", "-b", "ssd")
    write(other, {"vms/web.yaml": VM % "ssd"})
    commit(other)
    git(other, "tag", "released")
    git(other, "tag", "-a", "-m", "signed off", "noted")
    commits = git(other, "rev-parse", "main", "ssd").split()
    git(other, "checkout", "--quiet", "main")
    git(other, "branch", "--quiet", "-D", "ssd")  # only the tags have it now
    gone = f"not audited: manifests of {other}: there is no branch, tag or commit "
    for ref, out, err in (
        ("main", DRIFT, ""),
        ("released", "", ""),
        ("noted", "", ""),
        (commits[0], DRIFT, ""),
        (commits[1], "", ""),
        ("gone", "", f"{gone}gone\n"),
        ("f" * 40, "", f"{gone}{'f' * 40}\n"),
    ):
        where = f", repository: {other}, ref: {ref}"
        write(tree, {".gitbot.yaml": CONFIGURATION % where})
        said = audited()
        assert (said.out, said.err) == (out, err), ref


def test_a_repository_that_cannot_be_read_is_named(tree: Path) -> None:
    write(tree, {".gitbot.yaml": CONFIGURATION % ", repository: ./none, ref: main"})
    assert "not audited: manifests of ./none: " in audited().err


def test_an_empty_folder_is_named(tree: Path) -> None:
    assert audited().err == "not audited: manifests vms: found no file there\n"


LISTED = "apiVersion: v1\nkind: List\nitems:\n"


def indented(text: str) -> str:
    return "- " + text.replace("\n", "\n  ").rstrip() + "\n"


@pytest.mark.parametrize(
    "text",
    [
        LISTED + indented(VM % "nvme"),
        LISTED + indented(LISTED + indented(VM % "nvme")),
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineList\nitems:\n"
        + indented((VM % "nvme").replace("kind: VirtualMachine\n", "")),
        indented(VM % "nvme"),
    ],
)
def test_the_machines_of_a_list_are_compared(tree: Path, text: str) -> None:
    write(tree, {"vms/all.yaml": text})
    assert audited().out == DRIFT
    write(tree, {"vms/all.yaml": text.replace("nvme", "ssd")})
    assert audited().out == ""


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (VM % '"${DISK}"', "found ${DISK} in VirtualMachine web"),
        (VM % '"${DISK:=nvme}"', "found ${DISK:=nvme} in VirtualMachine web"),
        (VM % '"{{ .Values.disk }}"', "found {{ .Values.disk }} in VirtualMachine web"),
        ((VM % "nvme").replace("web", '"${name}"'), "found ${name} in VirtualMachine ${name}"),
        ((VM % "nvme").replace("name: web, ", ""), "found a VirtualMachine without metadata.name"),
        ((VM % "nvme").replace("{name: web", "{{- if x }}"), "cannot be read"),
    ],
)
def test_what_cannot_be_compared_is_named_and_is_no_drift(
    tree: Path, text: str, named: str
) -> None:
    write(tree, {"vms/web.yaml": text})
    assert audited().out == ""
    said = typed("audit", "--snapshot", "cluster.yaml")
    assert named in said.out
    assert "vms/web.yaml" in said.out
    assert named in typed("lint").out


def test_a_template_of_a_chart_is_named_as_one(tree: Path) -> None:
    template = (VM % "nvme").replace("{name: web", "{{- if x }}")
    write(tree, {"vms/web/Chart.yaml": "name: web\n", "vms/web/templates/vm.yaml": template})
    assert "found a template of the Helm chart vms/web/Chart.yaml" in typed("lint").out


def test_a_manifest_that_may_mean_several_machines_is_named(tree: Path) -> None:
    live = json.loads((tree / "cluster.yaml").read_text())
    other = read_kubernetes_yaml((VM % "ssd").replace("default", "shop").encode(), "")
    live["items"] += other
    write(tree, {"cluster.yaml": json.dumps(live)})
    write(tree, {"vms/web.yaml": (VM % "nvme").replace(", namespace: default", "")})
    assert audited().out == ""
    said = typed("audit", "--snapshot", "cluster.yaml")
    assert "VirtualMachine web without a namespace: there is one in default, shop" in said.text


FREEZE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: FreezeWindow
metadata: {name: f}
spec: {schedule: {start: "2030-01-01T00:00", duration: PT1H}}
"""


@pytest.mark.parametrize(
    "head", ["", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"]
)
def test_a_kustomization_beside_intents_is_left_alone(tree: Path, head: str) -> None:
    write(
        tree,
        {
            "intents/prod/kustomization.yaml": f"{head}resources: [f.yaml]\n",
            "intents/prod/f.yaml": FREEZE,
        },
    )
    assert typed("lint").code == 0
    write(tree, {"intents/prod/kustomization.yaml": FREEZE.replace("PT1H", "soon")})
    assert typed("lint").code == 1  # an intent is one under any name
