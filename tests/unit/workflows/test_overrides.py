"""A named owner overrides what a policy denies: for one plan, with a reason, in the ledger."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.cli.shared.status_page import table
from gitbot.model.ledger.events import PolicyOverridden
from gitbot.published import CommandOutcome
from gitbot.workflows.ask import status, status_document
from gitbot.workflows.check import publish
from gitbot.workflows.comments import Texts, answer
from tests.unit.workflows.tenants import AWAY, FILE, KINDS, OWNERS, Tenants, tenants

POLICY = """apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: no-jumpbox}
spec:
  over: Move
  matchConditions: [{name: jumpbox, expression: "move.vm.name == 'jumpbox'"}]
  validations: [{expression: "plan.holds.size() > 0", message: the jumpbox stays}]
  validationActions: [Deny]
"""
OVERRIDES = f"{OWNERS}  overrides: [{{policy: no-jumpbox, owners: ['@acme/platform', '@ann']}}]\n"


@pytest.fixture(params=KINDS)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tenants]:
    files = {"policies/no-jumpbox.yaml": POLICY}
    with tenants(request.param, tmp_path, owners=OVERRIDES, **files) as made:
        yield made


def say(scene: Tenants, number: int, by: str, text: str) -> tuple[CommandOutcome, str]:
    scene.port.sleep(1)
    said = scene.acting_as(by).upsert_comment(number, marker=text, body=text)
    texts = Texts(status=lambda _: "", explain=lambda _, vm: str(vm))
    result = answer((scene.shell,), number=number, comment=said.id, texts=texts)
    scene.port.sleep(1)
    return result.outcome, result.text


def overrides(scene: Tenants) -> list[tuple[str, str, str]]:
    events = scene.store.read().events
    found = [event for event in events if isinstance(event, PolicyOverridden)]
    return [(item.author, item.override.policy, item.reason) for item in found]


def test_an_owner_overrides_and_the_plan_runs(scene: Tenants) -> None:
    number = scene.open("ann", {FILE: AWAY}).number
    assert scene.check(number, "gitbot/policy")[0] == "failure"
    outcome, text = say(scene, number, "olga", "/gitbot override no-jumpbox the rack burns")
    assert outcome is CommandOutcome.DONE, text
    assert overrides(scene) == [("olga", "no-jumpbox", "the rack burns")]
    assert scene.check(number, "gitbot/policy")[0] == "success"
    assert "overridden by olga on pull request 1: the rack burns" in scene.comment(number)
    scene.merge(number)
    assert scene.apply().states == {"succeeded": 1}


def test_without_an_override_a_merge_approves_nothing(scene: Tenants) -> None:
    number = scene.open("ann", {FILE: AWAY}).number
    scene.merge(number)
    assert scene.apply().states == {}


REFUSED = [
    ("mallory", "no-jumpbox because", "mallory may not override no-jumpbox"),
    ("ann", "no-jumpbox because", "the author of a pull request does not override"),
    ("olga", "other because", "nobody may override other"),
    ("olga", "no-jumpbox", "override takes a policy and a reason"),
]


@pytest.mark.parametrize(("by", "words", "why"), REFUSED)
def test_who_is_not_named_is_told_who_is(scene: Tenants, by: str, words: str, why: str) -> None:
    number = scene.open("ann", {FILE: AWAY}).number
    outcome, text = say(scene, number, by, f"/gitbot override {words}")
    assert outcome is not CommandOutcome.DONE
    assert why in text
    assert overrides(scene) == []
    assert scene.check(number, "gitbot/policy")[0] == "failure"


@pytest.mark.parametrize("kind", KINDS)
def test_a_bot_overrides_nothing_also_if_it_is_named(kind: str, tmp_path: Path) -> None:
    named = OVERRIDES.replace("'@ann'", "'@gitbot'")
    files = {"policies/no-jumpbox.yaml": POLICY}
    with tenants(kind, tmp_path, owners=named, **files) as scene:
        number = scene.open("ann", {FILE: AWAY}).number
        for bot in ("gitbot", "renovate[bot]"):
            outcome, _ = say(scene, number, bot, "/gitbot override no-jumpbox because")
            assert outcome is not CommandOutcome.DONE
        assert overrides(scene) == []
        assert scene.check(number, "gitbot/policy")[0] == "failure"


def test_another_plan_is_denied_again(scene: Tenants) -> None:
    number = scene.open("ann", {FILE: AWAY}).number
    say(scene, number, "olga", "/gitbot override no-jumpbox the rack burns")
    scene.commit("work", {FILE: f"{AWAY}  note: another\n"})
    scene.publish(number)
    assert scene.check(number, "gitbot/policy")[0] == "failure"


def test_a_plan_that_nobody_could_read_is_not_overridden(scene: Tenants) -> None:
    number = scene.open("ann", {FILE: AWAY}).number
    judged = publish(scene.shell, number=number).check.judged
    assert judged is not None
    scene.port.cluster.cordon(judged.plan.moves[0].to.node)
    outcome, text = say(scene, number, "olga", "/gitbot override no-jumpbox the rack burns")
    assert (outcome, overrides(scene)) == (CommandOutcome.FAILED, [])
    assert "shows an older plan" in text
    say(scene, number, "olga", "/gitbot plan")
    outcome, text = say(scene, number, "olga", "/gitbot override no-jumpbox the rack burns again")
    assert outcome is CommandOutcome.DONE, text


def test_a_policy_that_came_after_the_merge_can_be_overridden(scene: Tenants) -> None:
    scene.commit("main", {"policies/no-jumpbox.yaml": POLICY.replace("> 0", "== 0")})
    number = scene.open("mallory", {FILE: AWAY}).number
    scene.approve(number, "dora")
    scene.merge(number)
    scene.commit("main", {"policies/no-jumpbox.yaml": POLICY})
    assert scene.apply().states == {}
    outcome, text = say(scene, number, "olga", "/gitbot override no-jumpbox the rack burns")
    assert outcome is CommandOutcome.DONE, text
    assert scene.apply().states == {"succeeded": 1}


def test_an_override_that_the_base_no_longer_allows_ends(scene: Tenants) -> None:
    number = scene.open("ann", {FILE: AWAY}).number
    say(scene, number, "olga", "/gitbot override no-jumpbox the rack burns")
    scene.merge(number)
    config = scene.repository.read_blob("main", ".gitbot.yaml")
    assert config is not None
    scene.commit("main", {".gitbot.yaml": config.decode().split("  overrides:")[0]})
    assert scene.apply().states == {}


def test_status_lists_exemptions_and_overrides(scene: Tenants) -> None:
    number = scene.open("ann", {FILE: AWAY}).number
    say(scene, number, "olga", "/gitbot override no-jumpbox the rack burns")
    page = table(status(scene.shell))
    assert "no-jumpbox: overridden by olga on pull request 1 (" in page
    assert "the rack burns" in page


def test_status_lists_exemptions_also_those_that_expired(tmp_path: Path) -> None:
    text = """apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicyExemption
metadata: {{name: {name}}}
spec: {{policy: no-jumpbox, subjects: [customapp/*], reason: moving out, owner: acme/sre,
  expires: "{expires}"}}
"""
    files = {
        "policies/no-jumpbox.yaml": POLICY,
        "policies/old.yaml": text.format(name="old", expires="2020-01-01T00:00:00Z"),
        "policies/new.yaml": text.format(name="new", expires="2099-01-01T00:00:00Z"),
    }
    with tenants("local", tmp_path, **files) as scene:
        result = status(scene.shell)
        title, *said = table(result).splitlines()[-3:]
        assert title == "Exemptions and overrides:"
        name, of = "no-jumpbox: exemption", "of acme/sre for customapp/*"
        new, old = "Thu 2099-01-01 01:00 Europe/Madrid", "Wed 2020-01-01 01:00 Europe/Madrid"
        assert [re.sub(r" \((in )?\d+ d \d+ (h|min|s)( ago)?\)", "", line) for line in said] == [
            f"{name} new {of} until {new}: moving out",
            f"{name} old {of} expired at {old} and no longer counts: moving out",
        ]
        lines = status_document(result).policy_exceptions
        assert [(line.name, line.expired) for line in lines] == [("new", False), ("old", True)]
