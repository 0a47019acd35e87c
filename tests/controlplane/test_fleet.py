"""Read-only work for many clusters: the real Job controller, and the Job's own command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.documents import read_kubernetes_yaml
from gitbot.kubernetes.objects import at
from gitbot.simulation.building import node
from gitbot.snapshot import from_objects, write_snapshot
from gitbot.workflows.core.published_snapshots import SNAPSHOT_FILE, snapshot_branch
from tests.controlplane.test_deploy import KUBECTL
from tests.controlplane.waiting import eventually
from tests.doubles.customapp import customapp
from tests.doubles.intents import CONFIGURATION
from tests.scenarios.loop import Loop

if TYPE_CHECKING:
    from tests.controlplane.kubelet import Kubelets
    from tests.controlplane.kubevirt.connection import Connection

pytestmark = pytest.mark.controlplane
FLEET = Path(__file__).resolve().parents[2] / "deploy/fleet"
OTHER = "second"
TWO = CONFIGURATION.replace("  - name: CLUSTER\n", f"  - name: {OTHER}\n  - name: CLUSTER\n")


def job_of(folder: Path, namespace: str, clusters: list[str]) -> dict[str, Any]:
    """The Job for these clusters, as an overlay of a person makes it."""
    (folder / "fleet").symlink_to(FLEET)
    (folder / "clusters").write_text("\n".join(clusters) + "\n")
    count = [{"op": "replace", "path": "/spec/completions", "value": len(clusters)}]
    overlay = {
        "namespace": namespace,
        "resources": ["fleet"],
        "configMapGenerator": [
            {"name": "gitbot-fleet", "behavior": "replace", "files": ["clusters"]}
        ],
        "generatorOptions": {"disableNameSuffixHash": True},
        "patches": [{"target": {"kind": "Job"}, "patch": json.dumps(count)}],
    }
    (folder / "kustomization.yaml").write_text(json.dumps(overlay))
    line = [str(KUBECTL), "kustomize", "--load-restrictor=LoadRestrictionsNone", str(folder)]
    done = subprocess.run([*line, "-o", str(folder)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*_job_*.yaml")
    (job,) = read_kubernetes_yaml(found.read_bytes(), found.name)
    return dict(job)


def publish(loop: Loop, cluster: str) -> None:
    """The snapshot of the one simulated cluster, as that of a cluster with this name."""
    own = loop.shell.cluster.snapshot()
    objects = (item for listed in own.objects.values() for item in listed)
    snapshot = from_objects(cluster, objects, own.taken_at)
    loop.person.write_commit(
        branch=snapshot_branch(cluster),
        expected=None,
        files={SNAPSHOT_FILE: write_snapshot(snapshot)},
        message="Publish the snapshot",
        time=loop.port.now(),
    )


class Runner:
    """Plays the hosts of the Job's pods: it runs their command, once for each pod."""

    def __init__(self, folder: Path, kubelets: Kubelets, repository: Path) -> None:
        self.ended: list[tuple[int, int]] = []  # index and exit code
        self._folder, self._kubelets, self._repository = folder, kubelets, repository
        self._seen: set[str] = set()

    def run(self, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        if name in self._seen or at(pod, "status", "phase") != "Running":
            return
        self._seen.add(name)
        (container,) = pod["spec"]["containers"]
        index = pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
        home = self._folder / name
        home.mkdir()
        given = {item["name"]: item.get("value", "") for item in container["env"]}
        environment = {
            **given,
            "HOME": str(home),
            "CLUSTERS": str(self._folder / "clusters"),
            "REPOSITORY": str(self._repository),
            "JOB_COMPLETION_INDEX": index,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        done = subprocess.run(
            [*container["command"], *container["args"]],
            env=environment,
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        self.ended.append((int(index), done.returncode))
        (home / "said").write_text(done.stdout + done.stderr)
        phase = "Failed" if done.returncode else "Succeeded"
        self._kubelets.finish(pod["metadata"]["namespace"], name, phase)


def test_each_index_audits_its_cluster_and_a_failed_one_is_tried_again(
    tmp_path: Path, admin: Connection, kubelets: Kubelets, namespace: str
) -> None:
    cluster = customapp(start_time=SystemClock().now())
    loop = Loop.start(tmp_path, cluster, configuration=TWO)
    publish(loop, loop.cluster.name)
    kubelets.add(node("fleet-1"))
    secret = {"metadata": {"name": "gitbot-fleet"}, "stringData": {"token": "none"}}
    admin.request(
        "POST",
        f"/api/v1/namespaces/{namespace}/secrets",
        {"apiVersion": "v1", "kind": "Secret", **secret},
    )
    job = job_of(tmp_path, namespace, [loop.cluster.name, OTHER])
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    admin.request("POST", jobs, job)
    runner = Runner(tmp_path, kubelets, tmp_path / "placement.git")

    def ended(count: int) -> bool:
        for pod in admin.list(f"/api/v1/namespaces/{namespace}/pods")[0]:
            runner.run(pod)
        status = admin.request("GET", f"{jobs}/gitbot-fleet")["status"]
        return int(status.get("succeeded", 0)) == count and len(runner.ended) > count

    eventually(lambda: ended(1), seconds=120)
    publish(loop, OTHER)
    eventually(lambda: ended(2), seconds=120)  # after the Job controller's back-off
    codes = {index: [code for one, code in runner.ended if one == index] for index in (0, 1)}
    assert codes[0] == [0]
    assert codes[1] == [*[2] * (len(codes[1]) - 1), 0]
    assert len(codes[1]) > 1
    said = [text.read_text() for text in sorted(tmp_path.glob("gitbot-fleet-*/said"))]
    assert any(f"no snapshot of {OTHER} is published" in text for text in said)
    assert sum(f'"cluster": "{loop.cluster.name}"' in text for text in said) == 1
    assert sum(f'"cluster": "{OTHER}"' in text for text in said) == 1
