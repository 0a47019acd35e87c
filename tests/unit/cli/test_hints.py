"""What a finding tells a person to do, where it once led the wrong way."""

import click
import pytest

from gitbot.cli.main import main
from gitbot.cli.shared.linting import lint
from gitbot.cli.shared.node_words import node_names
from gitbot.cli.shared.options import vm_words

HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\n"
CONFIGURATION = f"""\
{HEAD}kind: Configuration
metadata: {{name: default}}
spec:
  clusters:
  - {{name: prod, timeZone: UTC, limits: LIMITS}}
  forge: FORGE
"""
REQUEST = f"""\
{HEAD}kind: MigrationRequest
metadata: {{name: move, namespace: x}}
spec:
  vms: {{names: [db]}}
"""
RULE = f"""\
{HEAD}kind: PlacementRule
metadata: {{name: apart, namespace: x}}
spec:
  selector: {{matchLabels: {{a: b}}}}
"""


def said(intent: str = REQUEST, *, limits: str = "{}", forge: str = "{}") -> str:
    """The message and hint of the only finding; "" for none."""
    configuration = CONFIGURATION.replace("LIMITS", limits).replace("FORGE", forge)
    files = {".gitbot.yaml": configuration.encode(), "intents/prod/a.yaml": intent.encode()}
    return "; ".join(f"{item.message}; {item.hint}" for item in lint(files))


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        ("{type: gitolite}", 'found "gitolite", expected local, github, gitea or gitlab; '),
        (
            "{type: gihub}",
            'found "gihub", expected local, github, gitea or gitlab; did you mean github?',
        ),
    ],
)
def test_another_forge_is_not_a_misspelt_one(forge: str, words: str) -> None:
    assert said(forge=forge) == words


@pytest.mark.parametrize(
    "text",
    [
        "  topologySpread: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]\n",
        (
            "  antiAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
            "    - labelSelector: {matchLabels: {a: b}}\n"
        ),
    ],
)
def test_a_missing_topology_key_is_answered_with_one_that_nodes_have(text: str) -> None:
    assert said(RULE + text).endswith("add topologyKey: topology.kubernetes.io/zone")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("attempts: yes", "found yes, expected an integer; write a number in digits"),
        ("deadline: 2026-12-01", 'write it as "2026-12-06T22:00+01:00", in quotes'),
        ("deadline: 2026-12-01T22:00Z", 'quote it: "2026-12-01T22:00Z"'),
        ("note: no", 'quote it: "no", or write false'),
    ],
)
def test_plain_words_and_dates(line: str, hint: str) -> None:
    assert said(f"{REQUEST}  {line}\n").endswith(hint)


def test_the_budget_of_a_file_speaks_of_yaml_and_not_of_the_cluster() -> None:
    names = ", ".join(f"v{number}" for number in range(21_000))
    words = "found more than 20000 nodes of YAML, expected no more; split the file"
    assert words in said(REQUEST.replace("db", names))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (
            "{parallel: 1, reserve: 1}",
            (
                "found reserve 1 of parallel 1, expected less: 1 - 1 = 0 leaves gitbot no "
                "migration; write reserve: 0, or raise parallel"
            ),
        ),
        (
            "{reserve: 7}",
            (
                "found reserve 7 of parallel 5, expected less: 5 - 7 = -2 leaves gitbot no "
                "migration; write reserve: 4, or raise parallel"
            ),
        ),
        ("{parallel: 1, reserve: 0}", ""),
        ("{parallel: 1}", ""),
        ("{parallel: many, reserve: 1}", 'found "many", expected an integer; '),
    ],
)
def test_a_reserve_that_leaves_nothing_is_refused_with_the_arithmetic(
    limits: str, words: str
) -> None:
    assert said(limits=limits) == words


@pytest.mark.parametrize(
    "wish", ["allowRestart: true", "allowReboot: true", "mode: offline", "force: true"]
)
def test_a_wish_for_a_restart_is_answered_with_what_to_do(wish: str) -> None:
    words = said(f"{REQUEST}  {wish}\n")
    assert words.startswith(f'found the unknown field "{wish.partition(":")[0]}", expected vms')
    assert words.endswith(
        "; remove it: gitbot migrates live and never restarts a VM; where only a restart helps "
        "the plan says so, and the VM's owner does it: virtctl restart NAME"
    )


@pytest.mark.parametrize(
    ("wish", "way"),
    [
        ("storageClassName: fast", "spec.updateVolumesStrategy: Migration"),
        ("volumes: [{name: root}]", "spec.updateVolumesStrategy: Migration"),
        ("network: blue", "spec.template.spec.networks"),
        ("priority: 10", "spec.template.spec.priorityClassName"),
    ],
)
def test_a_wish_for_another_change_is_answered_with_who_makes_it_and_how(
    wish: str, way: str
) -> None:
    words = said(f"{REQUEST}  {wish}\n")
    assert words.startswith(f'found the unknown field "{wish.partition(":")[0]}", expected vms')
    assert "; remove it: " in words
    assert "owner" in words
    assert words.endswith(way)


def test_other_unknown_fields_are_answered_as_before() -> None:
    assert said(f"{REQUEST}  taget: {{node: n}}\n").endswith("; did you mean target?")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("freeze --start now --until 22:00", "there is no option --start; did you mean --from?"),
        ("drain n1 --from 22:00", "there is no option --from; did you mean --start?"),
        ("drain n1 --start 22:00 --until 23:00", "no option --until; did you mean --for?"),
        ("simulate --zone a", "no option --zone; did you mean gitbot simulate lose --zone?"),
        ("windows", "there is no command windows; gitbot get windows"),
        ("vm", "there is no command vm; gitbot get vms"),
        ("move vm/a --reason old", "'habit', 'other'; --note takes words of your own; gitbot move"),
        ("unpause", "there is no command unpause; gitbot resume"),
        ("evict vm/a", "there is no command evict; gitbot move vm/NAME --away"),
    ],
)
def test_words_of_another_command(
    typed: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(typed.split())
    assert hint in capsys.readouterr().err


def test_type_and_name_are_two_words_as_in_kubectl() -> None:
    context, parameter = click.Context(click.Command("x")), click.Argument(["vms"], nargs=-1)
    two = vm_words(context, parameter, ("vm", "a", "b"))
    assert two == ("vm/a", "vm/b")
    assert vm_words(context, parameter, ("vm",)) == ("vm",)
    assert vm_words(context, parameter, ("a", "b")) == ("a", "b")
    assert node_names(("node", "n1", "n2")) == ("n1", "n2")
    assert node_names(("node",)) == ("node",)
