"""`gitbot move`, `drain` and their like in a clone, with served cluster and local forge."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.lazy_cluster import LazyCluster
from gitbot.calendar import clock_time
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.ports.forge import PullRequest
from tests.doubles.intents import HEAD, RULE
from tests.unit.cli.desk import Desk, at_desk, merge


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        yield desk


def pulls(desk: Desk) -> tuple[PullRequest, ...]:
    return desk.loop.forge.list_pulls()


def file(desk: Desk, path: str) -> dict[str, object]:
    """A file on the branch of the only pull request, below the intents of the cluster."""
    (pull,) = pulls(desk)
    desk.loop.person.fetch()
    data = desk.loop.person.read_blob(pull.head, f"intents/{desk.loop.cluster.name}/{path}")
    assert data is not None
    value: dict[str, object] = yaml.safe_load(data)
    return value


def test_a_move_becomes_a_pull_request_of_the_person(desk: Desk) -> None:
    result = desk.gitbot(
        "move", "vm/jumpbox", "--note", "make room", "--before", "2199-01-01T00:00Z"
    )
    assert result.code == 0, result.text
    (pull,) = pulls(desk)
    assert (pull.author, pull.branch) == ("Ann", "move/customapp-move-jumpbox")
    assert pull.title == "Move customapp/jumpbox to another node"
    value = file(desk, "customapp/move-jumpbox.yaml")
    assert value["kind"] == "MigrationRequest"
    assert value["spec"] == {
        "vms": {"names": ["jumpbox"]},
        "note": "make room",
        "deadline": "2199-01-01T00:00:00Z",
    }
    number = pull.number
    first = f"next: gitbot check --pull-request {number} --publish, then gitbot merge {number}\n"
    assert f"pull request #{number}: {pull.title}; {first}" in result.out
    assert "gitbot render" not in result.out  # the working tree does not hold the intent
    commit = desk.loop.person.commit(pull.head)
    assert (commit.author, commit.email) == ("Ann", "ann@example.com")


def test_a_pin_is_written_as_the_kind_spells_it(desk: Desk) -> None:
    assert desk.gitbot("move", "vm/jumpbox", "--away", "--pin", "node").code == 0
    spec = file(desk, "customapp/move-jumpbox.yaml")["spec"]
    assert spec == {"vms": {"names": ["jumpbox"]}, "pin": "Node"}


@pytest.mark.parametrize("words", [("1",), ("show", "1"), ("list",), ()])
def test_pull_requests_are_listed_and_shown(desk: Desk, words: tuple[str, ...]) -> None:
    desk.gitbot("move", "vm/jumpbox", "--away")
    assert desk.gitbot("pulls", *words).out.startswith("pull request 1 by Ann is open: Move ")
    for wrong in (("show",), ("show", "1", "2"), ("one",)):
        assert desk.gitbot("pulls", *wrong).code == 2


def test_a_dry_run_shows_file_and_plan_and_writes_nothing(desk: Desk) -> None:
    result = desk.gitbot("move", "jumpbox", "-n", "customapp", "--dry-run")
    assert result.code == 0, result.text
    assert result.out.startswith(
        f"# intents/{desk.loop.cluster.name}/customapp/move-jumpbox.yaml\napiVersion"
    )
    assert "asked to leave its node" in result.out
    assert pulls(desk) == ()
    desk.loop.person.fetch()
    assert desk.loop.person.resolve("move/customapp-move-jumpbox") is None


def test_what_cannot_be_done_is_refused_before_anything_is_written(desk: Desk) -> None:
    result = desk.gitbot("move", "vm/jumpbox", "--zone", "nowhere")
    assert result.code == 1
    assert "nothing was written" in result.err
    assert pulls(desk) == ()


ASKED = [
    ("move", "vm/jumpbox", "--zone", "sab"),
    ("drain", "kni-worker"),
    ("keep-apart", "-l", "app=jumpbox", "-n", "customapp", "--nodes", "--max", "2"),
    ("keep-together", "-l", "app=jumpbox", "-n", "customapp"),
]


@pytest.mark.parametrize("words", ASKED, ids=[words[0] for words in ASKED])
def test_the_same_asked_twice_is_one_pull_request(desk: Desk, words: tuple[str, ...]) -> None:
    assert desk.gitbot(*words).code == 0
    again = desk.gitbot(*words, "--note", "again", "--name", "other")
    (pull,) = pulls(desk)
    assert again.code == 0, again.text
    assert "a pull request that asks for this is open already" in again.out
    asked = f"pull request #{pull.number}: {pull.title}; next: "
    line = f"pull request {pull.number} by Ann is open: {pull.title}; next: "
    if words[0] in ("move", "drain"):  # the merge of a rule approves no move
        assert f"{asked}gitbot check --pull-request {pull.number} --publish, then" in again.out
        page = desk.gitbot("status")
        assert f"{line}gitbot check --pull-request {pull.number} --publish\n" in page.out
    assert desk.gitbot("check", "--pull-request", str(pull.number), "--publish").code == 0
    assert f"{line}gitbot merge {pull.number}" in desk.gitbot("status").out
    assert f"{asked}gitbot merge {pull.number}" in desk.gitbot(*words).out
    desk.loop.forge.close_pull(pull.number)
    assert desk.gitbot(*words, "--name", "other").code == 0
    assert len(pulls(desk)) == 2


def test_a_freeze_that_is_there_already_is_not_written_twice(desk: Desk) -> None:
    now = SystemClock().now()
    yesterday, until = format_instant(now - 86_400), ("--until", format_instant(now + 86_400))
    assert desk.gitbot("freeze", "--from", yesterday, *until).code == 0
    again = desk.gitbot("freeze", *until)  # it would begin now, within the other one
    assert "a pull request that asks for this is open already" in again.out, again.text
    (pull,) = pulls(desk)
    merge(desk, pull.number)
    again = desk.gitbot("freeze", *until)
    words = "nothing was written: intents/iberia/freeze.yaml of main asks for this already\n"
    assert (again.code, again.out) == (0, words)
    assert desk.gitbot("freeze", "--until", format_instant(now + 90_000)).code == 0
    assert pulls(desk)[-1].branch == "freeze/freeze-2", "it ends later"


def test_a_freeze_begins_at_the_midnight_of_a_day_alone(desk: Desk) -> None:
    made = desk.gitbot("freeze", "--from", "2030-12-24", "--until", "2031-01-07 06:00")
    assert made.code == 0, made.text
    assert (
        "--from 2030-12-24: Tue 2030-12-24 00:00 Europe/Madrid (2030-12-23T23:00:00Z)" in made.text
    )
    refused = desk.gitbot("freeze", "--from", "2030-12-32", "--until", "2031-01-07 06:00")
    assert refused.code == 2
    assert "--from: found '2030-12-32', expected a date that exists" in refused.text


def test_a_rule_of_the_base_branch_is_not_asked_for_again_but_a_drain_is(desk: Desk) -> None:
    drain, rule = ASKED[1:3]
    for words in (drain, rule):
        assert desk.gitbot(*words).code == 0
        merge(desk, pulls(desk)[-1].number)
    assert "of main asks for this already" in desk.gitbot(*rule, "--name", "other").out
    assert desk.gitbot(*drain).code == 0
    assert len(pulls(desk)) == 3


def test_a_name_is_used_once(desk: Desk) -> None:
    for where in ("--away", "--zone=sab"):
        assert desk.gitbot("move", "vm/jumpbox", where).code == 0
    names = [pull.branch for pull in pulls(desk)]
    assert names == ["move/customapp-move-jumpbox", "move/customapp-move-jumpbox-2"]
    before = ("--before", "2199-01-01T00:00Z")
    again = desk.gitbot("move", "vm/jumpbox", *before, "--name", "move-jumpbox")
    assert again.code == 2
    assert "branch move/customapp-move-jumpbox exists already; choose another name" in again.err


def test_an_unknown_name_gets_the_nearest_one(desk: Desk) -> None:
    assert "did you mean jumpbox?" in desk.gitbot("move", "vm/jumpbx").err
    assert "did you mean kni-worker" in desk.gitbot("drain", "kni-workr").err
    assert (
        "there is no vm nope; known: jumpbox, mssql2016r5pcw"
        in desk.gitbot("explain", "vm/nope").err
    )


def test_a_drain_tonight(desk: Desk) -> None:
    result = desk.gitbot(
        "drain", "kni-worker", "--start", "22:00", "--for", "1d4h", "--return", "auto",
        "--time-zone", "Europe/Madrid", "--cordon", "--dry-run",
    )  # fmt: skip
    head, _, text = result.out.partition("\n")
    assert head == f"# intents/{desk.loop.cluster.name}/drain-kni-worker.yaml"
    assert "returnHome: Auto" in text
    assert "duration: P1DT4H" in text
    assert "T22:00" in text
    assert "cordon: Gitbot" in text


def test_a_move_before_a_time_of_day(desk: Desk) -> None:
    """In the time zone of the cluster, Europe/Madrid."""
    said = desk.gitbot("move", "vm/jumpbox", "--before", "6:00", "--dry-run")
    (line,) = (line.strip() for line in said.out.splitlines() if "deadline:" in line)
    deadline = parse_instant(line.removeprefix("deadline: ").strip('"'))
    assert f"{clock_time(deadline, 'Europe/Madrid'):%H:%M:%S}" == "06:00:00"
    assert 0 < deadline - SystemClock().now() <= 86_400
    whole = desk.gitbot("move", "vm/jumpbox", "--before", "2099-12-06T05:00+01:00", "--dry-run")
    assert "deadline: 2099-12-06T04:00:00Z" in whole.out.replace('"', "")


def test_a_drain_without_a_time_begins_at_merge(desk: Desk) -> None:
    result = desk.gitbot("drain", "kni-worker")
    assert result.code == 0, result.text
    (pull,) = pulls(desk)
    assert pull.title == "Empty kni-worker at merge"
    value = file(desk, "drain-kni-worker.yaml")
    assert value["spec"] == {"nodes": {"names": ["kni-worker"]}}


def test_several_nodes_are_drained_together(desk: Desk) -> None:
    result = desk.gitbot("drain", "node/kni-worker,kni-worker2", "kni-worker")
    assert result.code == 0, result.text
    (pull,) = pulls(desk)
    assert pull.title == "Empty kni-worker and 1 more at merge"
    value = file(desk, "drain-kni-worker-and-1-more.yaml")
    assert value["spec"] == {
        "nodes": {"names": ["kni-worker", "kni-worker2"]},
        "drain": {"mode": "Together"},
    }


@pytest.mark.parametrize(
    ("words", "drain"),
    [
        (("--rolling", "kni-worker", "kni-worker2"), {}),
        (("kni-worker", "kni-worker2", "--rolling"), {}),
        (("kni-worker", "--rolling", "kni-worker2"), {}),
        (("kni-worker", "--rolling", "--cordon", "kni-worker2"), {"cordon": "Gitbot"}),
        (("kni-worker", "--rolling", "2", "kni-worker2", "--cordon"),
         {"maxNodesAtOnce": 2, "cordon": "Gitbot"}),
        (("kni-worker", "kni-worker2", "--cordon"), {"mode": "Together", "cordon": "Gitbot"}),
    ],
)  # fmt: skip
def test_or_one_after_the_other(desk: Desk, words: tuple[str, ...], drain: dict[str, Any]) -> None:
    text = desk.gitbot("drain", *words, "--dry-run").out
    value = yaml.safe_load(text.partition("\n")[2].partition("\niberia")[0])
    assert value["spec"].get("drain", {}) == drain
    assert value["spec"]["nodes"] == {"names": ["kni-worker", "kni-worker2"]}


@pytest.mark.parametrize(
    ("words", "name", "title"),
    [
        (("--zone", "scu"), "drain-scu", "zone scu"),
        (
            ("-l", "topology.kubernetes.io/zone=scu"),
            "drain-scu",
            "the nodes with topology.kubernetes.io/zone=scu",
        ),
    ],
)
def test_nodes_by_their_labels(desk: Desk, words: tuple[str, ...], name: str, title: str) -> None:
    result = desk.gitbot("drain", *words, "--note", "power supply", "--rolling")
    assert result.code == 0, result.text
    (pull,) = pulls(desk)
    assert pull.title == f"Empty {title} at merge"
    assert file(desk, f"{name}.yaml")["spec"] == {
        "nodes": {"selector": {"matchLabels": {"topology.kubernetes.io/zone": "scu"}}},
        "note": "power supply",
    }


def test_a_rule(desk: Desk) -> None:
    result = desk.gitbot(
        "keep-apart", "-l", "app=jumpbox", "-n", "customapp", "--nodes", "--max", "2"
    )
    assert result.code == 0, result.text
    (pull,) = pulls(desk)
    assert pull.title == "Keep VMs with app=jumpbox in customapp apart: at most 2 on a node"
    value = file(desk, "customapp/jumpbox-apart.yaml")
    assert value["spec"] == {
        "selector": {"matchLabels": {"app": "jumpbox"}},
        "topologyKey": "kubernetes.io/hostname",
        "maxPerDomain": 2,
    }


def test_named_vms_are_selected_by_a_label_that_no_other_vm_has(desk: Desk) -> None:
    names = desk.gitbot("get", "vms", "-o", "name").out.split()
    alone = desk.gitbot("keep-apart", *names[:2], "--nodes")
    assert "no label tells " in alone.err  # the third VM of the replica set has the same labels
    shared = desk.gitbot("keep-apart", *(name for name in names if "mssql" in name), "--dry-run")
    assert "name: mssql2016-apart" in shared.out
    assert "matchLabels:\n      kubevirt.io/domain: mssql2016\n" in shared.out
    result = desk.gitbot("keep-apart", *names, "--nodes")
    assert result.code == 0, result.text
    expression: dict[str, object] = {"key": "kubevirt.io/domain", "operator": "In"}
    expression |= {"values": ["jumpbox", "mssql2016"]}
    assert file(desk, "customapp/vms-apart.yaml")["spec"] == {
        "selector": {"matchExpressions": [expression]},
        "topologyKey": "kubernetes.io/hostname",
    }


def test_vms_are_kept_together_in_one_zone(desk: Desk) -> None:
    result = desk.gitbot("keep-together", "-l", "kubevirt.io/domain=jumpbox")
    assert result.code == 0, result.text
    (pull,) = pulls(desk)
    assert (
        pull.title == "Keep VMs with kubevirt.io/domain=jumpbox in customapp together in one zone"
    )
    value = file(desk, "customapp/jumpbox-together.yaml")
    selector = {"matchLabels": {"kubevirt.io/domain": "jumpbox"}}
    term = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": selector}
    assert value["kind"] == "PlacementRule"
    assert value["spec"] == {
        "selector": selector,
        "affinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
    }


def test_a_selector_is_written_as_kubectl_writes_it(desk: Desk) -> None:
    words = "app in (db,web),tier=one,!old"
    text = desk.gitbot("keep-apart", "-l", words, "-n", "customapp", "--dry-run").out
    value = yaml.safe_load(text.partition("\n")[2].partition("\niberia")[0])
    assert value["metadata"]["name"] == "one-apart"
    assert value["spec"]["selector"] == {
        "matchLabels": {"tier": "one"},
        "matchExpressions": [
            {"key": "app", "operator": "In", "values": ["db", "web"]},
            {"key": "old", "operator": "DoesNotExist"},
        ],
    }


WRONG = [
    (("move", "vm/jumpbox", "--away", "--zone", "a"), "several of --to, --zone and --away"),
    (
        ("move", "vm/jumpbox", "--before", "soon"),
        "--before: found 'soon', expected a time such as 22:00, 10pm, tonight",
    ),
    (("move", "pod/x"), "there is no pod x"),
    (("drain",), "found no nodes, expected one of NODE..., --zone, -l"),
    (("drain", "kni-worker", "--zone", "scu"), "found several of NODE, --zone and -l"),
    (("drain", "--zone", "nowhere"), "the zones are "),
    (("drain", "scu"), "there is no node scu; did you mean --zone scu?"),
    (
        ("drain", "kni-worker", "kni-worker2", "--rolling", "0"),
        "'--rolling': 0 is not in the range 1<=x<=1000",
    ),
    (("drain", "kni-worker", "--rolling", "²"), "there is no node ²"),
    (("drain", "kni-worker", "--rolling=²"), "'--rolling': '²' is not a valid integer"),
    (("drain", "kni-worker", "--start", "22:00"), "belong together; add --for, such as --for 4h"),
    (
        ("drain", "kni-worker", "--for", "4h"),
        "such as --start 22:00, or leave out --for: it ends when its nodes are back",
    ),
    (
        ("drain", "kni-worker", "--start", "9:00", "--for", "2h", "--time-zone", "Europe/Madird"),
        "did you mean Europe/Madrid?",
    ),
    (("keep-apart", "-l", "app in", "-n", "a"), "found 'app in', expected such as app=db"),
    (("keep-apart", "-l", "app=db", "-n", "a", "--zones", "--nodes"), "both --zones and --nodes"),
    (("keep-apart", "vm/jumpbox", "-l", "app=db"), "found both VMs and -l"),
    (("keep-together",), "no VM is meant"),
    (("keep-together", "vm/jumpbox"), "expected two VMs or more of one namespace"),
    (("keep-together", "-l", "app=nothing"), "no VM has app=nothing now"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_wrong_words(desk: Desk, arguments: tuple[str, ...], said: str) -> None:
    refused = desk.gitbot(*arguments)
    assert refused.code == 2
    assert said in refused.err


def test_a_person_without_a_name_is_told_how_to_give_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    desk.git("config", "--unset", "user.name")
    monkeypatch.delenv("GIT_AUTHOR_NAME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    assert "git config --global user.name" in desk.gitbot("move", "vm/jumpbox").err


def test_a_node_that_is_not_drained_is_not_said_to_be_cordoned(desk: Desk) -> None:
    window = """\
kind: MaintenanceWindow
metadata: {name: firmware}
spec:
  nodes: {names: [kni-worker, kni-worker4]}
  drain: {cordon: Gitbot}
"""
    desk.commit(rule=RULE)
    desk.write(window=HEAD + window)
    said = desk.gitbot("plan")
    assert "window firmware: 1 of 2 nodes can be emptied: kni-worker; not kni-worker4\n" in said.out
    assert "\ncordon: gitbot cordons kni-worker before the first move off it; " in said.out
    assert "\nhome: kni-worker (1 VM); " in said.out


def test_author_closes_the_connection_that_it_has_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    close = LazyCluster.close

    def noted(cluster: LazyCluster[Any]) -> None:
        closed.append(cluster.name)
        close(cluster)

    monkeypatch.setattr(LazyCluster, "close", noted)
    assert desk.gitbot("move", "vm/jumpbox", "--away", "--dry-run").code == 0
    assert closed == [desk.loop.cluster.name]


def test_drain_without_cordon_hints_at_its_own_option(desk: Desk) -> None:
    said = desk.gitbot("drain", "kni-worker", "--dry-run").out
    assert "--cordon: kni-worker is not cordoned: " in said
    assert "cordon before the drain starts, or add --cordon [warning intents/not-cordoned]" in said


@pytest.mark.parametrize("words", [("move", "vm/jumpbox"), ("drain", "kni-worker", "--cordon")])
def test_a_longer_breach_is_asked_for_by_an_option(desk: Desk, words: tuple[str, ...]) -> None:
    assert "allowBreach: PT10M" in desk.gitbot(*words, "--allow-breach", "10m", "--dry-run").out
    said = desk.gitbot(*words, "--allow-breach", "soon", "--dry-run")
    assert said.code == 2
    assert "--allow-breach: found 'soon', expected " in said.err


def test_drain_of_nodes_without_vms_cordons_them(desk: Desk) -> None:
    said = desk.gitbot("drain", "kni-worker2", "kni-worker3", "--cordon", "--dry-run").out
    assert "no VM has to leave.\n" in said, said
    assert "no VM now" not in said


@pytest.mark.parametrize("more", [(), ("--start", "23:00", "--for", "2h")])
def test_drain_of_nodes_without_vms_says_what_is_left_to_do(
    desk: Desk, more: tuple[str, ...]
) -> None:
    said = desk.gitbot("drain", "kni-worker2", "kni-worker3", *more, "--dry-run").out
    empty = (
        "NODE: kni-worker2, kni-worker3 have no VM now: nothing moves, and gitbot cordons nothing"
    )
    # kni-worker2 is cordoned
    assert f"{empty}; kubectl cordon kni-worker3, or add --cordon" in said
    assert ("; the window stays open until its file is removed [" in said) == ("--for" not in more)
    assert "not cordoned" not in said
    assert "no VM now" not in desk.gitbot("drain", "kni-worker", "kni-worker2", "--dry-run").out


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        (("drain", "kni-worker"), ("drain", "kni-worker", "--cordon"), "kni-worker"),
        (("drain", "--zone", "scu"), ("drain", "kni-worker", "kni-worker5"), "kni-worker"),
        (("drain", "kni-worker5"), ("drain", "--zone", "sab"), "kni-worker5"),
        (("drain", "kni-worker5"), ("drain", "kni-worker"), ""),
        (
            ("move", "vm/jumpbox", "-n", "customapp", "--zone", "bcn"),
            ("move", "vm/jumpbox", "-n", "customapp", "--zone", "sab"),
            "jumpbox",
        ),
    ],
)
def test_another_open_pull_request_for_the_same_is_named(
    desk: Desk, first: tuple[str, ...], second: tuple[str, ...], named: str
) -> None:
    said = desk.gitbot(*first)
    assert said.code == 0, said.text
    assert "is open for" not in said.out
    (pull,) = pulls(desk)
    said = desk.gitbot(*second)
    assert len(pulls(desk)) == 2, said.text
    beside = f"pull request #{pull.number} is open for {named}, too: {pull.title}; "
    then = f"if this one replaces it: gitbot close {pull.number}"
    assert (f"{beside}{then}\n" in said.out) == bool(named), said.text
    assert ("is open for" in said.out) == bool(named)
