"""`gitbot plan` while the old launcher pod of a VM lingers in a zone where its rule is broken."""

import json
import subprocess
import sys
from pathlib import Path

from tests.doubles.problems import node, vm
from tests.unit.planner.test_lingering import migrated

NOW = "2026-12-06T21:00:00Z"
CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  mode: Enforce
  clusters: [{name: prod}]
"""
RULE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: ZoneAntiAffinity
metadata: {name: db, namespace: default}
spec: {selector: {matchLabels: {app: db}}, maxPerDomain: 1, enforcement: Required, heal: Propose}
"""
DB = {"app": "db"}
OBJECTS = [
    *(node(f"{zone}{number}", zone=zone) for zone, number in (("a", 1), ("a", 2), ("c", 1))),
    *migrated("v2", source="c1", target="a1", labels=DB),
    *vm("v3", on="c1", labels=DB),
]


def test_healing_ends_within_seconds_and_names_the_pod_that_it_waits_for(tmp_path: Path) -> None:
    (tmp_path / "intents" / "prod").mkdir(parents=True)
    (tmp_path / "intents" / "prod" / "rule.yaml").write_text(RULE)
    (tmp_path / ".gitbot.yaml").write_text(CONFIGURATION)
    cluster = {"apiVersion": "v1", "kind": "List", "items": OBJECTS}
    (tmp_path / "cluster.json").write_text(json.dumps(cluster))
    done = subprocess.run(
        [sys.executable, "-m", "gitbot", "plan", "--snapshot", "cluster.json", "--now", NOW],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "0 moves, 2 blocked" in done.stdout
    said = (
        "v2 runs on a1, but its old launcher pod on c1 still counts: plan again when it has ended"
    )
    assert said in done.stdout
