"""Exemptions and opt-outs from the pull request to the move, on the local forge and on GitHub."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.model.cluster.opt_out import LABEL
from gitbot.model.text.instants import format_instant
from tests.unit.workflows.tenants import AWAY, FILE, KINDS, Tenants, tenants
from tests.unit.workflows.test_overrides import POLICY

EXEMPTION = """apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicyExemption
metadata: {name: moving}
spec: {policy: no-jumpbox, reason: moving out, owner: acme/sre, expires: "EXPIRES"}
"""


@pytest.fixture(params=KINDS)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tenants]:
    with tenants(request.param, tmp_path) as made:
        yield made


def exemption(scene: Tenants, seconds: int) -> str:
    return EXEMPTION.replace("EXPIRES", format_instant(scene.port.now() + seconds))


def opt_out(scene: Tenants, value: str | None) -> None:
    patch = {"metadata": {"labels": {LABEL: value}}}
    scene.port.cluster.api.patch("VirtualMachineInstance", ("customapp", "jumpbox"), patch)


def test_only_an_exemption_of_the_base_branch_counts_until_it_expires(scene: Tenants) -> None:
    scene.commit("main", {"policies/no-jumpbox.yaml": POLICY})
    files = {FILE: AWAY, "policies/mine.yaml": exemption(scene, 900)}
    number = scene.open("ann", files).number
    assert scene.check(number, "gitbot/policy")[0] == "failure"
    scene.commit("main", {"policies/moving.yaml": exemption(scene, 900)})
    scene.publish(number)
    assert scene.check(number, "gitbot/policy")[0] == "success"
    assert "by moving of acme/sre: moving out" in scene.comment(number)
    scene.port.sleep(900)
    scene.publish(number)
    assert scene.check(number, "gitbot/policy")[0] == "failure"
    assert "exemption moving of acme/sre expired at" in scene.comment(number)


def test_an_opt_out_holds_what_is_shown_and_what_is_approved(scene: Tenants) -> None:
    opt_out(scene, "never")
    number = scene.open("ann", {FILE: AWAY}).number
    assert scene.check(number, "gitbot/plan")[0] == "failure"
    assert f"{LABEL}=never keeps it where it is" in scene.comment(number)
    opt_out(scene, None)
    scene.publish(number)
    assert scene.check(number, "gitbot/plan")[0] == "success"
    scene.merge(number)
    opt_out(scene, "never")
    start = scene.where()
    assert scene.apply().states.get("succeeded") is None
    assert scene.where() == start
    opt_out(scene, "only-requested")  # this request names it
    assert scene.apply().states == {"succeeded": 1}
