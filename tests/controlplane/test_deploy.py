"""The manifests that an administrator applies, put before a real API server with kubectl."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.controlplane
DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
KUBECTL = Path(sys.executable).parent / "kubectl"
RESTRICTED = "pod-security.kubernetes.io/warn=restricted"


def kubectl(plane: ControlPlane, *arguments: str) -> str:
    """What kubectl says, warnings of the API server among it; it must end well."""
    line = [str(KUBECTL), "--kubeconfig", str(plane.kubeconfig()), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """A folder beside a copy of gitbot that adds every component."""
    shutil.copytree(DEPLOY, tmp_path / "gitbot" / "deploy")
    names = sorted(path.name for path in (DEPLOY / "rbac").glob("optional-*"))
    components = [f"../gitbot/deploy/rbac/{name}" for name in names]
    text = {"resources": ["../gitbot/deploy"], "components": components}
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(json.dumps(text))
    return folder


@pytest.mark.parametrize("folder", ["deploy", "deploy/rbac", "overlay"])
def test_the_api_server_takes_all_of_it(plane: ControlPlane, overlay: Path, folder: str) -> None:
    # on a new cluster, only the namespace must be there: a dry run does not make it
    kubectl(plane, "apply", "-f", str(DEPLOY / "rbac" / "10-namespace.yaml"))
    kubectl(plane, "label", "namespace", "gitbot", RESTRICTED, "--overwrite")
    path = overlay if folder == "overlay" else DEPLOY.parent / folder
    said = kubectl(plane, "apply", "--dry-run=server", "--validate=strict", "-k", str(path))
    lines = said.splitlines()
    known = [line for line in lines if "last-applied-configuration" not in line]
    assert [line for line in known if "dry run" not in line] == []  # no warning about the pod
    kinds = {line.partition("/")[0].partition(".")[0] for line in known}
    assert {"clusterrole", "clusterrolebinding", "serviceaccount"} <= kinds
    assert ({"deployment", "networkpolicy", "priorityclass"} <= kinds) is (folder != "deploy/rbac")
    assert ("validatingadmissionpolicy" in kinds) is (folder == "overlay")


@pytest.mark.parametrize(
    ("kustomization", "kind"),
    [
        ({"resources": ["../gitbot/deploy"], "components": ["../gitbot/deploy/cron"]}, "cronjob"),
        ({"resources": ["../gitbot/deploy/fleet"]}, "job"),
    ],
)
def test_the_api_server_takes_jobs(
    plane: ControlPlane, overlay: Path, kustomization: dict[str, list[str]], kind: str
) -> None:
    kubectl(plane, "apply", "-f", str(DEPLOY / "rbac" / "10-namespace.yaml"))
    kubectl(plane, "label", "namespace", "gitbot", RESTRICTED, "--overwrite")
    (overlay / "kustomization.yaml").write_text(json.dumps(kustomization))
    said = kubectl(plane, "apply", "--dry-run=server", "--validate=strict", "-k", str(overlay))
    lines = [line for line in said.splitlines() if "last-applied-configuration" not in line]
    assert f"{kind}.batch/gitbot" in said
    assert "deployment.apps" not in said
    assert [line for line in lines if "dry run" not in line] == []  # no warning about the pod
