"""promtool judges the alerts of deploy/monitoring: their syntax, and when they fire.

It is built from its Go module, which takes minutes on a cold cache, so this is in tier long.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitbot.documents import read_kubernetes_yaml
from gitbot.model.text.canonical import canonical_json

HERE = Path(__file__).parent
RULES = HERE.parents[1] / "deploy" / "monitoring" / "rules.yaml"
PACKAGE = "github.com/prometheus/prometheus/cmd/promtool"

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed"),
]


@pytest.fixture(scope="module")
def promtool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("promtool") / "promtool"
    flags = ["-mod=readonly", "-trimpath", "-ldflags=-s -w", "-tags", "remove_all_sd"]
    command = ["go", "build", *flags, "-o", str(program), PACKAGE]
    environment = {key: value for key, value in os.environ.items() if key != "GOFLAGS"}
    environment |= {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    subprocess.run(command, cwd=HERE, env=environment, check=True)
    return program


def test_each_alert_fires_when_it_should_and_no_earlier(promtool: Path, tmp_path: Path) -> None:
    (rules,) = read_kubernetes_yaml(RULES.read_bytes(), RULES.name)
    (tmp_path / "rules.yaml").write_bytes(canonical_json(rules["spec"]))  # JSON is YAML
    shutil.copy(HERE / "alerts.test.yaml", tmp_path)
    for words in (["check", "rules", "rules.yaml"], ["test", "rules", "alerts.test.yaml"]):
        done = subprocess.run(
            [str(promtool), *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
