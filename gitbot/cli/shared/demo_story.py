"""The story of the demo: a pull request is refused, corrected, merged, applied; then a healing."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape

from gitbot.errors import Bug
from gitbot.model.ledger.events import MoveChanged, MoveState
from gitbot.model.text.instants import format_instant
from gitbot.model.text.names import API_VERSION
from gitbot.ports.forge import MergeMethod, PullRequest, PullState
from gitbot.reports import terminal
from gitbot.reports.html.page import html
from gitbot.wiring.demo import CLUSTER, PERSON, Stage
from gitbot.wiring.workspace import open_shell, shipped
from gitbot.workflows.apply import ApplyResult, apply
from gitbot.workflows.ask import write_dashboard
from gitbot.workflows.check import publish
from gitbot.workflows.core.context import Progress
from gitbot.workflows.propose import propose

REPORT = "report.html"  # in the demo's folder
BRANCH = "spread-the-databases"
FOLDER = f"intents/{CLUSTER}/customapp"
Say = Callable[[str], None]


def tell(stage: Stage, *, say: Say, colour: bool) -> None:
    """Play the whole story. Raises Bug if it ends in any other way."""
    databases = stage.instances("mssql2016")
    lone = next(vm for vm, node in sorted(databases.items()) if node == "kni-worker4")
    _title(say, "The cluster before")
    say(stage.picture())
    say(
        "\n   Two databases share kni-worker6 and zone scu has none: kni-worker2 was drained\n"
        "   once, and rules act at scheduling time only, so nothing came back."
    )
    pull = _open(stage, lone, say)
    _show(stage, pull.number, say, colour=colour, refused=True)
    _correct(stage, lone, say)
    _show(stage, pull.number, say, colour=colour, refused=False)
    _merge(stage, pull.number, say)
    _apply(stage, say, moves=2)
    healing = _healing(stage, say)
    _merge(stage, healing.number, say)
    _apply(stage, say, moves=1)
    _again(stage, say)
    _title(say, "The cluster after")
    say(stage.picture())
    _ledger(stage, say)
    _check_the_end(stage, lone)


def _open(stage: Stage, lone: str, say: Say) -> PullRequest:
    _title(say, f"{PERSON} opens a pull request with a rule and two requests")
    files = {
        f"{FOLDER}/mssql2016.yaml": RULE,
        f"{FOLDER}/jumpbox-to-sab.yaml": request(
            "jumpbox-to-sab",
            vm="jumpbox",
            node="kni-worker5",
            reason="Maintenance",
            note="rack of kni-worker gets new power supplies",
        ),
        f"{FOLDER}/db-back.yaml": _database_request(lone, "kni-worker3"),
    }
    stage.commit(BRANCH, files, "Spread the databases")
    for path in sorted(files):
        say(f"   {path}")
    return stage.forge.acting_as(PERSON).open_pull(
        branch=BRANCH,
        base_branch="main",
        title="Spread the databases",
        body="One database in each zone, and jumpbox out of the way.",
        labels=(),
    )


def _database_request(vm: str, node: str) -> str:
    note = "first of the databases on its way to a zone of its own"
    return request("db-back", vm=vm, node=node, reason="Other", note=note)


def _show(stage: Stage, number: int, say: Say, *, colour: bool, refused: bool) -> None:
    say(f"\n$ gitbot check --pull-request {number} --publish")
    with stage.workspace() as workspace:
        check = publish(open_shell(workspace, CLUSTER), number=number).check
    if check.diff is None:
        findings = "\n".join(map(str, check.findings))
        raise Bug(f"BUG: the demo's intents are invalid:\n{findings}")
    (stage.folder / REPORT).write_text(
        html(check.diff, templates=shipped().templates), encoding="utf-8"
    )
    say(terminal(check.diff, colour=colour))
    if check.fails() != refused:
        raise Bug("BUG: the demo's plan is not judged as it should be")


def _correct(stage: Stage, lone: str, say: Say) -> None:
    _title(say, f"{PERSON} corrects the request: kni-worker2 instead of kni-worker3")
    path = f"{FOLDER}/db-back.yaml"
    stage.commit(BRANCH, {path: _database_request(lone, "kni-worker2")}, "Send it to kni-worker2")


def _merge(stage: Stage, number: int, say: Say) -> None:
    _title(say, f"{PERSON} merges pull request {number}")
    pull = stage.pull(number)
    merged = stage.forge.acting_as(PERSON).merge_pull(
        number, method=MergeMethod.MERGE, expected_head=pull.head
    )
    say(f"   {pull.title!r}, merged as {merged.merge_commit[:12]}")


def _apply(stage: Stage, say: Say, *, moves: int) -> None:
    say("\n$ gitbot apply")
    result = _run_apply(stage, lambda progress: say(f"   {_line(progress)}"))
    if result.states.get("succeeded") != moves:
        raise Bug(f"BUG: the demo expects {moves} moves, not {dict(result.states)}; {result.stop}")


def _run_apply(stage: Stage, progress: Callable[[Progress], None]) -> ApplyResult:
    with stage.workspace() as workspace:
        return apply(open_shell(workspace, CLUSTER, progress=progress), on_report=write_dashboard)


def _line(progress: Progress) -> str:
    return f"{format_instant(progress.time)[11:19]}  {progress.text}"


def _healing(stage: Stage, say: Say) -> PullRequest:
    _title(say, "The bot looks for what is still broken and proposes the one move that heals it")
    say("$ gitbot propose")
    with stage.workspace() as workspace:
        result = propose(open_shell(workspace, CLUSTER))
    opened = [report for report in result.concerns if report.action == "opened"]
    if len(opened) != 1:
        raise Bug(f"BUG: the demo expects one proposal, not {result.concerns}")
    pull = stage.pull(opened[0].pull_request)
    say(f"   pull request {pull.number} by {pull.author}: {pull.title}\n")
    comments = stage.forge.list_comments(pull.number)
    say(_indented(_folded(comments[0].body if comments else pull.body)))
    return pull


def _folded(body: str) -> str:
    """The comment without its folded details, as a browser shows it."""
    shown: list[str] = []
    depth = 0
    for line in body.splitlines():
        depth += line.count("<details>")
        if depth and "<summary>" in line:
            shown.append(">> " + line.split("<summary>")[1].split("</summary>")[0])
        elif not depth and not line.startswith("<!--"):
            shown.append(line)
        depth -= line.count("</details>")
    return unescape("\n".join(shown)).strip()


def _again(stage: Stage, say: Say) -> None:
    say("\n$ gitbot apply            # once more")
    result = _run_apply(stage, lambda progress: say(f"   {_line(progress)}"))
    if not result.did_nothing:
        raise Bug("BUG: a second apply wrote something")
    say("   nothing to do: everything that is approved has been carried out")


def _ledger(stage: Stage, say: Say) -> None:
    _title(say, "The ledger (branch gitbot/ledger): who moved what, and why")
    with stage.workspace() as workspace:
        events = workspace.ledger.read().events
    for event in events:
        if isinstance(event, MoveChanged) and event.state is MoveState.SUCCEEDED:
            took = f"{event.seconds} s" if event.seconds else ""
            landed = event.landed or event.to
            say(
                f"   {format_instant(event.time)}  {event.vm}  {event.source} -> {landed}  {took}"
                f"  {event.request} (pull request {event.pull_request})"
            )


def _check_the_end(stage: Stage, lone: str) -> None:
    databases = stage.instances("mssql2016")
    spread = sorted(databases.values()) == ["kni-worker2", "kni-worker4", "kni-worker6"]
    there = stage.instances("jumpbox") == {"jumpbox": "kni-worker5"}
    pulls = all(pull.state is PullState.MERGED for pull in stage.forge.list_pulls())
    if not (spread and there and pulls and databases[lone] == "kni-worker2"):
        raise Bug(f"BUG: the demo ends with {databases}")


def _title(say: Say, text: str) -> None:
    say(f"\n== {text}\n")


def _indented(text: str) -> str:
    return "\n".join(f"   {line}".rstrip() for line in text.splitlines())


CONFIGURATION = f"""\
apiVersion: {API_VERSION}
kind: Configuration
metadata: {{name: default}}
spec:
  clusters:
  - name: iberia
    timeZone: Europe/Madrid
  forge: {{type: local, repository: origin, baseBranch: main}}
  proposals: {{stabilize: PT0S}}
  mode: Enforce
"""

READ_ME = """\
# Placement intents of cluster iberia

Made by `gitbot demo`.
"""

RULE = f"""\
apiVersion: {API_VERSION}
kind: ZoneAntiAffinity
metadata: {{name: mssql2016, namespace: customapp}}
spec:
  selector: {{matchLabels: {{kubevirt.io/domain: mssql2016}}}}
  topologyKey: topology.kubernetes.io/zone
  maxPerDomain: 1
  enforcement: Required
  heal: Propose
"""


def request(name: str, *, vm: str, node: str, reason: str, note: str) -> str:
    return f"""\
apiVersion: {API_VERSION}
kind: MigrationRequest
metadata: {{name: {name}, namespace: customapp}}
spec:
  vms: {{names: [{vm}]}}
  target: {{node: {node}}}
  reason: {reason}
  note: "{note}"
"""
