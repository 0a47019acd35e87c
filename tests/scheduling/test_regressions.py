"""The named cases: gitbot says what they say, and so does the oracle."""

import json
import subprocess
from typing import Any

import pytest

from gitbot.kubernetes.names import NamespacedName
from tests.controlplane import build
from tests.scheduling.comparison import differences, explainer_of
from tests.scheduling.regressions import REGRESSIONS, Regression
from tests.scheduling.regressions_disks import DISK_REGRESSIONS

ALL = (*REGRESSIONS, *DISK_REGRESSIONS)
cases = pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
NEW = NamespacedName(namespace="shop", name="new")


@cases
def test_gitbot_says_what_kube_scheduler_said(case: Regression) -> None:
    explanation = explainer_of(case.objects, [case.judged]).pod(NEW)
    found = {}
    for verdict in explanation.judgement.nodes:
        said = verdict.reported
        found[verdict.node] = "ok" if said is None else f"{said.plugin}: {said.reasons[0]}"
    assert found == case.verdicts
    assert not case.winners or explanation.winners == case.winners


@pytest.mark.oracle
@cases
def test_the_oracle_says_the_same_and_nothing_else_differs(case: Regression) -> None:
    program = build.build(["oracle"])["oracle"]
    text = json.dumps(case.scenario)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    (verdict,) = result["results"]
    found = {}
    for node in case.verdicts:
        said = verdict.get("whole") or (verdict.get("rejected") or {}).get(node)
        found[node] = "ok" if said is None else f"{said['plugin']}: {said['reasons'][0]}"
    assert found == case.verdicts
    assert list(differences(case.scenario, result)) == []
