"""promtool judges the alerts of deploy/monitoring: their syntax, and when they fire."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gitbot.documents import read_kubernetes_yaml
from gitbot.model.text.canonical import canonical_json
from tests.controlplane import build
from tests.controlplane.test_deploy import DEPLOY

pytestmark = pytest.mark.controlplane
RULES = DEPLOY / "monitoring" / "rules.yaml"
TESTS = Path(__file__).parent / "promtool" / "alerts.test.yaml"


def test_each_alert_fires_when_it_should_and_no_earlier(tmp_path: Path) -> None:
    (rules,) = read_kubernetes_yaml(RULES.read_bytes(), RULES.name)
    (tmp_path / "rules.yaml").write_bytes(canonical_json(rules["spec"]))  # JSON is YAML
    shutil.copy(TESTS, tmp_path)
    promtool = str(build.build(["promtool"])["promtool"])
    for words in (["check", "rules", "rules.yaml"], ["test", "rules", TESTS.name]):
        done = subprocess.run(
            [promtool, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
