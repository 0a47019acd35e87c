"""The manifests that an administrator applies, put before a real API server with kubectl."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.controlplane import account

if TYPE_CHECKING:
    from tests.controlplane.kubevirt.connection import Connection
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


@pytest.mark.parametrize("folder", [DEPLOY, DEPLOY / "rbac"], ids=["deploy", "deploy/rbac"])
def test_the_api_server_takes_all_of_it(
    plane: ControlPlane, admin: Connection, folder: Path
) -> None:
    account.install(admin)  # with the namespace, which a dry run does not make
    kubectl(plane, "label", "namespace", "gitbot", RESTRICTED, "--overwrite")
    said = kubectl(plane, "apply", "--dry-run=server", "--validate=strict", "-k", str(folder))
    lines = said.splitlines()
    known = [line for line in lines if "last-applied-configuration" not in line]
    assert [line for line in known if "dry run" not in line] == []  # no warning about the pod
    kinds = {line.partition("/")[0].partition(".")[0] for line in known}
    assert {"clusterrole", "clusterrolebinding", "serviceaccount"} <= kinds
    assert ("deployment" in kinds) is (folder == DEPLOY)
