"""-n, -A, -l, -o and --context mean the same in every command that lists or asks."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from gitbot.cli.main import COMMANDS, cli
from gitbot.cli.shared.options import LISTED
from gitbot.cli.shared.schema_table import schema_of
from tests.doubles.intents import REQUEST, RULE
from tests.unit.cli.desk import Desk, at_desk, merge

LISTING = (
    "plan", "check", "render", "explain", "status", "get", "calendar", "ledger show", "audit",
)  # fmt: skip
NAMELESS = ("lint", "doctor", "policy list", "policy test")  # about files and rights, not objects
LABELLED = RULE.replace("{name: mssql2016,", "{labels: {team: db}, name: mssql2016,")
ANCHOR = "kubevirt.io/domain=mssql2016"


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {each}", found) for each, found in command.commands.items())
        else:
            yield name, command


BY_NAME = dict(commands())


def option(command: str, flag: str) -> click.Option:
    """The option of a command with this flag."""
    for param in BY_NAME[command].params:
        if isinstance(param, click.Option) and flag in param.opts:
            return param
    raise AssertionError(f"{command} has no {flag}")


@pytest.mark.parametrize("command", LISTING)
@pytest.mark.parametrize("flag", ["-n", "-A", "-l", "--context", "--kubeconfig"])
def test_what_lists_or_asks_takes_kubectls_options(command: str, flag: str) -> None:
    same = option("get", flag)
    found = option(command, flag)
    assert (found.opts, found.help, found.metavar) == (same.opts, same.help, same.metavar)


@pytest.mark.parametrize("command", [*LISTING, *NAMELESS])
def test_every_listing_has_the_same_forms(command: str) -> None:
    forms = option(command, "-o").type
    assert isinstance(forms, click.Choice)
    assert list(forms.choices)[: len(LISTED)] == list(LISTED)


def test_o_is_a_path_in_snapshot_alone() -> None:
    paths = {
        name
        for name, command in BY_NAME.items()
        for param in command.params
        if "-o" in param.opts and not isinstance(param.type, click.Choice)
    }
    assert paths == {"snapshot"}


def test_n_l_and_o_have_one_meaning_elsewhere_too() -> None:
    for name, command in BY_NAME.items():
        for param in command.params:
            for flag, long in (("-n", "--namespace"), ("-l", "--selector"), ("-o", "--output")):
                assert flag not in param.opts or long in param.opts, f"{name} {flag}"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        desk.commit(jump=REQUEST, rule=LABELLED)
        yield desk


def out(desk: Desk, line: str, code: int = 0) -> str:
    said = desk.gitbot(*line.split())
    assert said.code == code, said.text
    return said.out


def test_a_plan_shows_what_is_chosen_and_is_judged_whole(desk: Desk) -> None:
    """The rule cannot be healed here, so that `plan` ends with 1 whatever is shown."""
    whole = "request/customapp/jump/1\n"
    assert out(desk, "plan -o name", code=1) == whole
    assert out(desk, f"plan -o name -l {ANCHOR}", code=1) == ""
    assert out(desk, "plan -o name -n elsewhere", code=1) == ""
    assert out(desk, "plan -o name -n elsewhere -A", code=1) == whole
    said = desk.gitbot("plan", "-l", ANCHOR)
    assert "jumpbox" not in said.out
    assert said.err.endswith("0 of 1 move shown\n")
    assert "jumpbox" not in out(desk, f"check -l {ANCHOR}", code=1)
    assert "RULE " not in out(desk, "plan -l team=other", code=1)
    assert "RULE " in out(desk, "plan -l team=db", code=1)


@pytest.mark.parametrize("form", ["json", "yaml", "markdown", "sarif"])
def test_a_document_of_a_plan_is_whole(desk: Desk, form: str) -> None:
    said = desk.gitbot("plan", "-n", "customapp", "-o", form)
    assert said.code == 2
    assert "a plan's document is whole" in said.err


def test_manifests_are_chosen_by_their_own_labels(desk: Desk) -> None:
    (name,) = out(desk, "render -o name").split()
    assert name.startswith("virtualmachineinstancemigration/gitbot-jumpbox-")
    label = "placement.gitbot.dev/request"
    assert out(desk, f"render -o name -l {label}=request_customapp_jump").split() == [name]
    assert out(desk, f"render -o name -l {label}!=request_customapp_jump") == ""
    assert out(desk, "render -n elsewhere") == ""
    assert name.split("/")[1] in out(desk, "render -o table -n customapp")


def test_explain_takes_labels_and_names_the_nodes(desk: Desk) -> None:
    found = json.loads(out(desk, f"explain -l {ANCHOR} -o json"))
    assert len(found["subjects"]) == 3
    assert "node/kni-worker3" in out(desk, "explain jumpbox -o name").split()
    assert "no VM has these labels" in desk.gitbot("explain", "-l", "a=b").err


def test_status_shows_what_is_chosen(desk: Desk) -> None:
    assert out(desk, "status -o name").split() == ["request/customapp/jump"]
    assert out(desk, "status -n elsewhere -o name") == ""
    assert "customapp/jump" not in out(desk, "status -n elsewhere")
    assert "customapp/jump" in out(desk, "status -n customapp")
    assert "customapp/jump" not in out(desk, "status -l team=db")
    assert desk.gitbot("status", "request/customapp/jump", "-n", "x").code == 2
    document = json.loads(out(desk, "status -n elsewhere -o json"))
    jsonschema.validate(document, schema_of("Status"))
    assert document["notPlanned"] == []


def test_the_calendar_and_the_ledger_show_what_is_chosen(desk: Desk) -> None:
    assert out(desk, "calendar -o name").split() == ["request/customapp/jump"]
    assert out(desk, "calendar -o name -l team=db") == ""
    assert "customapp/jump" in out(desk, "calendar -A -n elsewhere")
    document = yaml.safe_load(out(desk, "calendar -o yaml"))
    jsonschema.validate(document, schema_of("Calendar"))
    desk.gitbot("calendar", "--context", "nope")
    out(desk, "propose")
    assert out(desk, "ledger show -o name -l a=b") == ""


def test_what_has_no_namespace_has_the_same_forms(desk: Desk) -> None:
    policies = json.loads(out(desk, "policy list -o json"))
    jsonschema.validate(policies, schema_of("PolicyList"))
    names = [item["name"] for item in policies["items"]]
    assert names
    assert out(desk, "policy list -o name").split() == names
    assert "ledger/read" in out(desk, "doctor -o name").split()
    desk.write(broken="kind: nothing")
    assert out(desk, "lint -o name", code=1) == "intents/iberia/broken.yaml\n"
    found = yaml.safe_load(out(desk, "lint -o yaml", code=1))
    jsonschema.validate(found, schema_of("FindingList"))
    assert out(desk, "lint", code=1) == out(desk, "lint -o text", code=1)


MISSPELT = [
    ("statu", "there is no command statu; did you mean status?"),
    ("ledger sho", "there is no command ledger sho; did you mean show?"),
    ("policy lst", "there is no command policy lst; did you mean list?"),
    ("plan --snapsht x", "there is no option --snapsht; did you mean --snapshot?"),
    ("init --time-zone UTC", "there is no option --time-zone; gitbot init --help shows how"),
    ("plan --out json", "there is no option --out; did you mean --output?"),
    ("get nodes --namespce x", "there is no option --namespce; did you mean --namespace?"),
    ("drain kni-worker5 --until 2h", "there is no option --until; did you mean --for?"),
    ("plan --cluster iberi", "there is no cluster iberi; did you mean iberia?"),
    ("get node kni-worker9", "nodes: not found: kni-worker9; did you mean kni-worker"),
    ("cancel request/customapp/jum", "did you mean request/customapp/jump?"),
    ("explain jumpbx", "there is no vm jumpbx; did you mean jumpbox?"),
    ("drain kni-worke5", "there is no node kni-worke5; did you mean kni-worker5?"),
    ("simulate lose kni-worker5 --zone scc", "no node is in zone scc; did you mean scu?"),
    ("simulate drain --zone elsewhere", "elsewhere; the zones are "),
    ("simulate drain -l gpu=yes", "no node is meant; no node has the labels of -l"),
    ("simulate drain", "no node is meant; give names, --zone or -l"),
    (
        "ledger show --since 2026-12-01T00:00:00Z --until 2026-11-01T00:00:00Z",
        "no time lies between",
    ),
    ("plan --rev mian", "there is no revision mian; did you mean main?"),
    ("plan --rev caf\udce9", "there is no revision caf\udce9"),  # bytes that are not UTF-8
    ("plan -o jso", "'jso' is not one of 'table', 'wide', 'json'"),
    ("plan -o jso", "; did you mean json?"),
    ("completion bas", "; did you mean bash?"),
    (
        "init --forge gitolite",
        "'gitea', 'gitlab'; gitbot init --help shows how",
    ),
]


@pytest.mark.parametrize(("line", "words"), MISSPELT)
def test_the_word_that_was_meant(desk: Desk, line: str, words: str) -> None:
    said = desk.gitbot(*line.split())
    assert said.code == 2
    (error,) = said.err.splitlines()
    assert error.startswith("error: ")
    assert words in error


def test_a_namespace_that_nobody_has_is_answered_with_the_one_that_was_meant(desk: Desk) -> None:
    said = desk.gitbot("get", "vms", "-n", "custmapp")
    assert (said.code, said.out) == (0, "")
    assert said.err == "no vms found; did you mean -n customapp?\n"
    assert desk.gitbot("get", "vms", "-n", "customapp", "-l", "a=b").err == "no vms found\n"
    unknown = "there is no namespace custmapp in the cluster; did you mean customapp?\n"
    assert f"warning: {unknown}" in desk.gitbot("plan", "-n", "custmapp").err
    assert f"warning: {unknown}" in desk.gitbot("render", "-n", "custmapp").err
    said = desk.gitbot("audit", "-n", "custmapp")
    assert (said.code, said.err) == (2, f"error: {unknown}")
    assert "warning" not in desk.gitbot("plan", "-n", "customapp").err
    assert "in the cluster; known: customapp, " in desk.gitbot("plan", "-n", "xyz").err


def test_a_vm_or_node_that_no_entry_names_is_answered_with_the_one_that_was_meant(
    desk: Desk,
) -> None:
    out(desk, "cancel request/customapp/jump --by ann")
    out(desk, "ledger show --all")
    assert desk.gitbot("ledger", "show", "--vm", "elsewhere").err == "no entry names elsewhere\n"
    desk.loop.commit({"jump.yaml": REQUEST.replace("name: jump", "name: again")})
    out(desk, "propose")
    merge(desk, 1)
    assert desk.gitbot("apply", "--max-runtime", "1").code in (0, 1)
    said = desk.gitbot("ledger", "show", "--vm", "jumpbx", "--node", "kni-worke5")
    assert said.err.splitlines() == [
        "no entry names jumpbx; did you mean jumpbox?",
        "no entry names kni-worke5; did you mean kni-worker5?",
    ]
    wrong = desk.gitbot("ledger", "show", "--vm", "customapp/jumpbx").err
    assert wrong == "no entry names customapp/jumpbx; did you mean customapp/jumpbox?\n"
    assert desk.gitbot("ledger", "show", "--vm", "jumpbox").err == ""
    entries = out(desk, "ledger show --vm jumpbox -o csv")
    assert out(desk, "ledger show --vm jumpbox -o csv --since P1D") == entries
    assert "customapp/jumpbox" in entries
