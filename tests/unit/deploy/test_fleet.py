"""The files for many clusters: each gets its Deployment, with its own name and nothing else."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gitbot.documents import read_kubernetes_yaml
from gitbot.settings import among, read_settings

ROOT = Path(__file__).parents[3]
FLEET = ROOT / "deploy/fleet"
KUBECTL = Path(sys.executable).parent / "kubectl"
CLUSTER = "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Cluster\nmetadata: {name: east}\n"
CONFIGURATION = (
    "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Configuration\n"
    "spec: {clustersFrom: clusters}\n"
)


def read(file: Path) -> Mapping[str, Any]:
    (found,) = read_kubernetes_yaml(file.read_bytes(), file.name)
    return dict(found)


def built(folder: Path, **kustomization: Any) -> dict[str, Mapping[str, Any]]:
    """By kind, what kustomize makes of `deploy/` under these patches."""
    (folder / "kustomization.yaml").write_text(json.dumps(kustomization))
    line = [str(KUBECTL), "kustomize", "--load-restrictor=LoadRestrictionsNone", str(folder)]
    done = subprocess.run(line, check=True, capture_output=True)
    return {item["kind"]: item for item in read_kubernetes_yaml(done.stdout, "built")}


@pytest.mark.parametrize("file", ["applicationset.yaml", "flux.yaml"])
def test_each_cluster_gets_the_deployment_under_its_own_name(file: str, tmp_path: Path) -> None:
    spec = read(FLEET / file)["spec"]
    if file == "applicationset.yaml":
        # the generator reads the files that clustersFrom names, and takes their names
        ((generator,),) = (item["git"]["files"] for item in spec["generators"])
        named = {generator["path"].replace("*", "a"): CLUSTER.encode()}
        settings, _ = read_settings(CONFIGURATION.encode(), ".gitbot.yaml", among(named))
        assert settings is not None
        assert settings.cluster_names == ("east",)
        spec, name = spec["template"]["spec"]["source"]["kustomize"], "{{.metadata.name}}"
    else:
        name = "CLUSTER"
    patches = json.loads(json.dumps(spec["patches"]).replace(name, "east"))
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    plain = built(tmp_path, resources=["deploy"])
    found = built(tmp_path, resources=["deploy"], patches=patches)
    (container,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    (before,) = plain["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == [*before["args"], "--cluster=east"]
    assert {**container, "args": []} == {**before, "args": []}


def test_the_job_has_no_account_of_a_cluster_and_as_many_indexes_as_clusters(
    tmp_path: Path,
) -> None:
    (tmp_path / "fleet").symlink_to(FLEET)
    found = built(tmp_path, resources=["fleet"])
    spec, names = found["Job"]["spec"], found["ConfigMap"]["data"]["clusters"].split()
    assert (spec["completionMode"], spec["completions"]) == ("Indexed", len(names))
    pod = spec["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
