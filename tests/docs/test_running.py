"""`Three ways to run gitbot`: what it shows is what the program and the manifests take."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from gitbot.cli.commands.init import init
from gitbot.documents import read_kubernetes_yaml
from tests.docs.blocks import Block, blocks
from tests.docs.scratch import ROOT

PAGE = ROOT / "docs" / "running.md"
KUBECTL = Path(sys.executable).parent / "kubectl"


def block(language: str, words: str) -> Block:
    (found,) = (item for item in blocks(PAGE) if item.language == language and words in item.text)
    return found


def test_self_hosted_runners_get_the_jobs_that_reach_the_cluster(tmp_path: Path) -> None:
    typed = shlex.split(block("sh", "--runs-on").text)
    assert typed[:3] == ["gitbot", "init", "."]
    result = CliRunner().invoke(init, [str(tmp_path), *typed[3:]], standalone_mode=False)
    assert result.exception is None
    runs_on = {}
    for path in (tmp_path / ".github" / "workflows").iterdir():
        (workflow,) = read_kubernetes_yaml(path.read_bytes(), path.name)
        for name, job in workflow["jobs"].items():
            runs_on[path.stem, name] = job["runs-on"]
    reaching = {key for key, value in runs_on.items() if value == ["self-hosted", "prod"]}
    assert reaching == {("apply", "apply"), ("reconcile", "reconcile")}
    assert {value for key, value in runs_on.items() if key not in reaching} == {"ubuntu-latest"}


def test_the_overlay_renders_with_image_and_configuration_of_ones_own(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "deploy", tmp_path / "gitbot" / "deploy")
    tmp_path /= "overlay"
    tmp_path.mkdir()
    (tmp_path / "kustomization.yaml").write_text(block("yaml", "kind: Kustomization").text)
    mine = "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Configuration\n"
    (tmp_path / ".gitbot.yaml").write_text(mine)
    done = subprocess.run(
        [str(KUBECTL), "kustomize", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    objects: tuple[Mapping[str, Any], ...] = read_kubernetes_yaml(done.stdout.encode(), "overlay")
    (deployment,) = (item for item in objects if item["kind"] == "Deployment")
    (configuration,) = (item for item in objects if item["kind"] == "ConfigMap")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "images.example.org/gitbot:0.1.0"
    assert pod["containers"][0]["args"][-1] == "--cluster=prod"
    assert configuration["data"] == {".gitbot.yaml": mine}
    (volume,) = (item for item in pod["volumes"] if item["name"] == "configuration")
    assert volume["configMap"]["name"] == configuration["metadata"]["name"]


def test_the_secret_that_is_made_is_the_one_that_is_mounted() -> None:
    typed = shlex.split(block("sh", "create secret").text.replace("\n", " ; "))
    keys = {word.partition("=")[2] for word in typed if word.startswith("--from-")}
    assert keys == {"app-id=123456", "app.pem"}
    text = (ROOT / "deploy" / "watch" / "deployment.yaml").read_text()
    assert "secretKeyRef: {name: gitbot-github, key: app-id}" in text
    assert "items: [{key: app.pem, path: app.pem}]" in text
