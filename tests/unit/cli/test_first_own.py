"""A person moves a VM, freezes, undoes and looks, with the words that they try first."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gitbot.simulation.building import machine, namespace
from tests.doubles.customapp import jumpbox_machine
from tests.doubles.intents import CONFIGURATION, HEAD, REQUEST
from tests.unit.cli.desk import Desk, at_desk

README = Path(__file__).parents[3] / "README.md"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        yield desk


def steps_of_readme() -> list[list[str]]:
    """The commands of gitbot in the block that begins with the first own move."""
    text = README.read_text("utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    block = next(part for part in blocks if "merge 1" in part)
    return [line.split()[1:] for line in block.splitlines() if line.startswith("gitbot ")]


def test_readme_leads_to_an_own_migration_in_eight_commands(desk: Desk) -> None:
    steps = steps_of_readme()
    assert [words[0] for words in steps] == ["move", "check", "merge", "apply"]
    said = [desk.gitbot(*words) for words in steps[:-1]]
    assert [each.code for each in said] == [0, 0, 0], said
    carry_out(desk)


def carry_out(desk: Desk) -> None:
    """The machine's clock does not move the simulated one: it goes ahead between two passes."""
    assert "1 running" in desk.gitbot("apply", "--max-runtime", "1").out
    desk.loop.cluster.advance(25)
    assert "1 succeeded" in desk.gitbot("apply", "--max-runtime", "1").out


def test_merge_of_what_was_not_shown_is_refused_with_the_command(desk: Desk) -> None:
    desk.gitbot("move", "jumpbox", "--away")
    said = desk.gitbot("merge", "1")
    assert said.code == 2
    assert "approves nothing yet; gitbot check --pull-request 1 --publish" in said.err
    assert "pull request 1 by Ann is open: Move customapp/jumpbox" in desk.gitbot("pulls").out
    assert desk.gitbot("merge", "1", "--anyway").code == 0
    assert desk.gitbot("pulls").err == "no pull request is open\n"
    assert "pull request 1 by Ann is merged" in desk.gitbot("pulls", "--all").out


def test_approve_show_and_close(desk: Desk) -> None:
    desk.gitbot("move", "jumpbox", "--away")
    assert "next: gitbot merge 1" in desk.gitbot("approve", "1").out
    assert [item.reviewer for item in desk.loop.forge.get_pull(1).reviews] == ["Ann"]
    desk.gitbot("check", "--pull-request", "1", "--publish")
    shown = desk.gitbot("pulls", "1").out
    assert "gitbot/plan: success: 1 move" in shown
    assert "Moves customapp/jumpbox" in shown
    assert "pull request 1 by Ann is closed" in desk.gitbot("close", "1").out


@pytest.mark.parametrize("ending", ["merge", "close"])
def test_buttons_refuse_pull_request_that_has_ended(desk: Desk, ending: str) -> None:
    desk.gitbot("move", "jumpbox", "--away")
    desk.gitbot(ending, "1", *(["--anyway"] if ending == "merge" else []))
    before = desk.loop.forge.get_pull(1)
    for button in ("merge", "approve", "close"):
        said = desk.gitbot(button, "1")
        assert (said.code, said.err.count(f"pull request 1 is {before.state}; ")) == (2, 1), said
    hint = "gitbot status says" if ending == "merge" else "ask again in a new one"
    assert hint in said.err
    assert desk.loop.forge.get_pull(1) == before


def test_merge_names_what_comes_next(desk: Desk) -> None:
    desk.gitbot("drain", "kni-worker")
    assert desk.gitbot("merge", "1", "--anyway").out.endswith("; next: gitbot reconcile\n")
    assert "opened (pull request 2)" in desk.gitbot("reconcile").out
    assert desk.gitbot("merge", "2").out.endswith("; next: gitbot apply\n")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("merge", "99"), "there is no pull request 99; gitbot pulls --all lists them"),
        (("simulate", "lose", "nosuch"), "there is no node nosuch; known: kni-"),
        (("describe", "freeze/nosuch"), "windows: not found on main: nosuch; known: "),
    ],
)
def test_unknown_name_is_answered_with_what_there_is(
    desk: Desk, words: tuple[str, ...], hint: str
) -> None:
    said = desk.gitbot(*words)
    assert (said.code, hint in said.err) == (2, True), said.text


def test_move_and_drain_print_a_page_that_is_read_at_once(desk: Desk) -> None:
    short = desk.gitbot("move", "jumpbox", "--away")
    assert len(short.out.splitlines()) <= 12, short.text
    assert "  customapp/jumpbox: kni-worker -> kni-worker" in short.out
    whole = desk.gitbot("drain", "kni-worker4", "--cordon", "--verbose")
    assert len(whole.out.splitlines()) > 12, whole.text
    short = desk.gitbot("drain", "kni-worker2", "kni-worker4", "kni-worker6", "--cordon")
    assert len(short.out.splitlines()) <= 12, short.text
    assert "stays: " in short.out or " -> " in short.out


def test_owners_approve_after_the_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owned = f"{CONFIGURATION}  owners: [{{paths: [intents/iberia], namespaces: [customapp]}}]\n"
    with at_desk(tmp_path, monkeypatch, owned) as desk:
        desk.gitbot("move", "jumpbox", "--away")
        desk.gitbot("merge", "1", "--anyway")
        said = desk.gitbot("approve", "1")
        assert (said.code, "next: gitbot apply" in said.out) == (0, True), said.text


def test_merge_and_check_say_whose_approval_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned = (
        f"{CONFIGURATION}  owners:\n"
        "  - {paths: [intents/iberia], namespaces: [customapp], teams: ['@bob']}\n"
    )
    missing = "@bob for namespace customapp"
    with at_desk(tmp_path, monkeypatch, owned) as desk:
        desk.gitbot("move", "jumpbox", "--away")
        for more in ((), ("--publish",)):
            said = desk.gitbot("check", "--pull-request", "1", *more)
            assert f"owner's approval: missing: {missing}\n" in said.out, said.text
        said = desk.gitbot("merge", "1")
        waits = f"waits for the approval of {missing}: nothing of it starts before"
        assert (said.code, waits in said.out) == (0, True), said.text
        assert "`gitbot approve 1`" in said.out
        desk.gitbot("apply")
        assert f"waits for the approval of {missing}; next: " in desk.gitbot("status").out
        desk.git("config", "user.name", "bob")
        said = desk.gitbot("approve", "1")
        assert said.out.endswith("; next: gitbot apply\n"), said.text
        carry_out(desk)
        assert "request/customapp/move-jumpbox: succeeded" in desk.gitbot("status").out


def test_merge_of_a_freeze_or_a_rule_needs_no_check(desk: Desk) -> None:
    said = desk.gitbot("freeze", "--until", "in 2h")
    assert "next: gitbot merge" in said.out
    assert "--publish" not in said.out
    assert "--publish" not in desk.gitbot("status").out
    assert desk.gitbot("merge", "1").code == 0
    rule = desk.gitbot("keep-apart", "-l", "kubevirt.io/domain=mssql2016", "-n", "customapp")
    assert "--publish" not in rule.out, rule.text
    assert desk.gitbot("merge", "2").code == 0
    assert "freeze" in desk.gitbot("get", "freezes").out


def test_merge_of_what_lint_refuses_still_asks_for_the_check(desk: Desk) -> None:
    broken = HEAD + "kind: FreezeWindow\nmetadata: {name: f}\nspec: {schedule: {start: never}}\n"
    pull = desk.loop.open({"freeze.yaml": broken})
    said = desk.gitbot("merge", str(pull.number))
    assert (said.code, "check --pull-request 1 --publish" in said.err) == (2, True), said.text


def test_merge_asks_for_the_check_of_each_cluster_that_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = CONFIGURATION.replace("  proposals", "  - name: other\n    timeZone: UTC\n  proposals")
    with at_desk(tmp_path, monkeypatch, two) as desk:
        desk.gitbot("move", "jumpbox", "--away", "--cluster", "iberia")
        said = desk.gitbot("merge", "1")
        command = "gitbot check --pull-request 1 --publish --cluster iberia"
        assert (said.code, said.err.endswith(f"approves nothing yet; {command}\n")) == (2, True)
        assert desk.gitbot(*command.split()[1:]).code == 0
        assert desk.gitbot("merge", "1").code == 0


def test_merge_of_a_check_that_failed_says_to_mend_it(desk: Desk) -> None:
    pull = desk.loop.open({"jump.yaml": REQUEST.replace("jumpbox", "nobody")})
    desk.loop.publish(pull.number)
    said = desk.gitbot("merge", str(pull.number))
    shown = f"`gitbot check --pull-request {pull.number}`"
    assert (said.code, f"mend the errors that {shown} shows, and push" in said.err) == (2, True)
    assert f"next: mend the errors that {shown} shows" in desk.gitbot("status").out


def test_dry_run_of_apply_starts_nothing_and_undo_leads_back(desk: Desk) -> None:
    for words in steps_of_readme()[:-1]:
        desk.gitbot(*words)
    would = desk.gitbot("apply", "--dry-run")
    assert re.match(r"would start: customapp/jumpbox: kni-worker -> kni-worker\d \(", would.out)
    assert "created" not in desk.gitbot("get", "moves").out
    nothing = desk.gitbot("undo", "request/customapp/move-jumpbox")
    assert (nothing.code, "knows no request" in nothing.err) == (2, True)
    carry_out(desk)
    assert desk.gitbot("apply", "--dry-run").out.endswith("nothing would start now\n")
    said = desk.gitbot("undo", "request/customapp/move-jumpbox", "--dry-run")
    assert "    - jumpbox\n  target:\n    node: kni-worker\n" in said.out
    assert "  note: undoes request/customapp/move-jumpbox\n" in said.out


def test_a_freeze_can_be_asked_for_again_after_its_pull_request_was_closed(desk: Desk) -> None:
    said = desk.gitbot("freeze", "--until", "in 2h")
    assert "freeze freeze: 1 appears: " in said.out
    assert "freeze freeze: 1 appears: " in desk.gitbot("check", "--pull-request", "1").out
    assert "pull request 1 by Ann is closed" in desk.gitbot("close", "1").out
    again = desk.gitbot("freeze", "--until", "in 2h")
    assert again.code == 0, again.text
    assert "freeze-2.yaml on branch freeze/freeze-2" in again.out


def test_freeze_until_a_time(desk: Desk) -> None:
    said = desk.gitbot(
        "freeze", "--from", "2199-01-01 10:00", "--until", "2199-01-02 12:30", "-n", "customapp",
        "--reason", "quarter close", "--dry-run",
    )  # fmt: skip
    assert said.code == 0, said.text
    value = yaml.safe_load(said.out[said.out.index("apiVersion") : said.out.index("\niberia: ")])
    assert value["kind"] == "FreezeWindow"
    assert value["spec"] == {
        "namespaces": ["customapp"],
        "schedule": {
            "start": "2199-01-01T10:00",
            "timeZone": "Europe/Madrid",
            "duration": "P1DT2H30M",
        },
        "reason": "quarter close",
    }
    early = desk.gitbot("freeze", "--from", "2199-01-03 10:00", "--until", "2199-01-02 12:30")
    assert (early.code, "expected a time after --from" in early.err) == (2, True)


def test_move_by_labels_in_a_window(desk: Desk) -> None:
    desk.commit(
        change=f"{HEAD}kind: MaintenanceWindow\nmetadata: {{name: change}}\nspec:\n  schedule: "
        '{start: "2098-01-01T10:00", timeZone: UTC, duration: PT4H}\n'
    )
    said = desk.gitbot(
        "move", "-l", "kubevirt.io/domain=jumpbox", "--away", "--window", "change", "--dry-run"
    )
    assert "names:\n    - jumpbox\n" in said.out
    assert "window: change\n" in said.out
    none = desk.gitbot("move", "-l", "app=nothing")
    assert (none.code, "no VM is meant" in none.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("describe vm/jumpbox", "vm/jumpbox in customapp: "),
        ("describe vmi jumpbox -n customapp", "vm/jumpbox in customapp: "),
        ("describe node/kni-worker5", "kni-worker5 "),
        ("get node/kni-worker5", "kni-worker5 "),
    ],
)
def test_types_and_names_as_kubectl_takes_them(desk: Desk, words: str, answer: str) -> None:
    said = desk.gitbot(*words.split())
    assert said.code == 0, said.text
    assert answer in said.out


def test_describe_takes_cluster_and_kubeconfig(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    there = os.environ["KUBECONFIG"]
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    for subject in ("vm/jumpbox", "node/kni-worker5"):
        said = desk.gitbot("describe", subject, "--kubeconfig", there, "--cluster", "iberia")
        assert (said.code, said.err) == (0, ""), said.text
    said = desk.gitbot("describe", "node/kni-worker5", "--cluster", "prod")
    assert "there is no cluster prod" in said.err


@pytest.mark.parametrize(
    "request_id",
    [
        "drain/racks/20261206T210000Z",
        "return/racks/20261206T210000Z",
        "heal/ns/Kind/db/0123456789ab",
    ],
)
def test_describe_takes_every_id_of_a_request(desk: Desk, request_id: str) -> None:
    said = desk.gitbot("describe", request_id)
    assert (said.code, said.err) == (2, desk.gitbot("status", request_id).err)


def test_describe_takes_plural_and_namespace_of_request(desk: Desk) -> None:
    for words in (["requests/customapp/move-jumpbox"], ["request", "customapp/move-jumpbox"]):
        assert "request/customapp/move-jumpbox" in desk.gitbot("describe", *words).err


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("describe vm", "found 'vm' without a name"),
        ("describe thing/x", "found 'thing', expected pod, intents"),
        ("get nodes -w -o json", "-w prints a table"),
        ("get clusters -w", "get clusters looks once"),
    ],
)
def test_wrong_questions(desk: Desk, words: str, answer: str) -> None:
    said = desk.gitbot(*words.split())
    assert said.code == 2
    assert answer in said.err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("freeze", "--until", "2150-01-01 10:00"), "--until: "),
        (("drain", "kni-worker2", "--return", "Auto"), "--return: "),
        (("drain", "kni-worker2", "--start", "in 2h", "--for", "30000d"), "--for: "),
    ],
)
def test_finding_is_at_the_option_of_its_own_command(
    desk: Desk, words: tuple[str, ...], option: str
) -> None:
    said = desk.gitbot(*words, "--dry-run")
    assert said.code in (1, 2), said.text
    lines = [line for line in said.text.splitlines() if "error" in line or option in line]
    assert any(option in line for line in lines), said.text


def test_freeze_says_which_times_it_understood(desk: Desk) -> None:
    said = desk.gitbot("freeze", "--from", "2199-01-01 10:00", "--until", "2199-01-02 12:30")
    assert "--from 2199-01-01 10:00: Tue 2199-01-01 10:00 Europe/Madrid (" in said.err
    assert "--until 2199-01-02 12:30: Wed 2199-01-02 12:30 Europe/Madrid (" in said.err


def test_times_in_seconds_are_understood(desk: Desk) -> None:
    said = desk.gitbot("move", "jumpbox", "--away", "--before", "in 90s", "--dry-run")
    assert "--before in 90s: " in said.err


@pytest.mark.parametrize("where", [("--zone", "scu"), ("--to", "kni-worker")])
def test_move_to_where_the_vm_is_opens_no_pull_request(desk: Desk, where: tuple[str, str]) -> None:
    said = desk.gitbot("move", "jumpbox", *where)
    assert said.code == 0, said.text
    assert "already where the request wants them: jumpbox on kni-worker" in said.out
    assert said.out.endswith("nothing was written: every VM is where the request wants it\n")
    assert desk.gitbot("pulls").err == "no pull request is open\n"


def test_move_of_which_one_vm_is_there_opens_a_pull_request(desk: Desk) -> None:
    (other,) = (
        row.split()[1]
        for row in desk.gitbot("get", "vms").out.splitlines()
        if row.endswith(" kni-worker4")
    )
    said = desk.gitbot("move", "jumpbox", other, "--to", "kni-worker4")
    assert (said.code, "pull request #1" in said.out) == (0, True), said.text


def test_move_by_labels_leaves_namesakes_of_other_namespaces_alone(desk: Desk) -> None:
    cluster, own = desk.loop.cluster, jumpbox_machine()
    spec = own["spec"]["template"]["spec"]
    namesake = machine("jumpbox", namespace="shop", labels={"app": "other"}, spec=spec)
    cluster.apply([namespace("shop"), namesake])
    cluster.run_until(cluster.engine.idle, limit=3600)
    said = desk.gitbot("move", "-l", "kubevirt.io/domain=jumpbox", "--away", "--dry-run")
    assert "  namespace: customapp\n" in said.out, said.text
    assert "    names:\n    - jumpbox\n" in said.out
    both = desk.gitbot("move", "-l", "kubevirt.io/domain in (jumpbox,other)", "vm/jumpbox")
    assert "vm jumpbox is in namespaces customapp, shop" in both.err
