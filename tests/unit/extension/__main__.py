"""`python -m tests.unit.extension WORDS...`: gitbot with what somebody outside it registered.

`page` prints the page of policy variables, `COMPLETE` as the first word what a shell would offer.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from click.shell_completion import ShellComplete

from gitbot.adapters.forges.forge_type import Choices, Connection, ForgeSetup, InitOption
from gitbot.adapters.forges.local import at_address
from gitbot.cli.main import cli, main
from gitbot.policy.reference_pages import variables_page
from gitbot.policy.variables import VARIABLES, PolicyVariable
from gitbot.ports.forge import ForgeCapabilities
from gitbot.reports.diff import Diff
from gitbot.reports.registry import REPORTS, FindingReport, ReportFormat, Shows
from gitbot.settings.forge_types import REPOSITORY_RULES, RepositoryRule
from gitbot.wiring.forges import FORGES


def connect(root: Path, *, address: str, repository: str, base_branch: str) -> Connection:
    return at_address(str(root.parent / repository))


def problems(choices: Choices) -> Iterator[tuple[str, str]]:
    if not choices["drawer"]:
        yield "drawer", "found no drawer, expected --drawer NAME"


def tabbed(report: FindingReport) -> str:
    return "".join(f"{found.file}\t{found.code}\n" for found in report.findings)


def movelist(diff: Diff, _templates: object) -> str:
    return "".join(f"{move.vm.name} > {move.to.node}\n" for move in diff.plan.moves)


def drawer_problem(name: str) -> tuple[str, str] | None:
    return None if name.islower() else (f"found {name}, expected a drawer", "write small letters")


def season(plan: object, problem: object) -> Mapping[str, str]:
    assert plan is not problem
    return {"name": "winter"}


REPOSITORY_RULES["cupboard"] = RepositoryRule(wanted="name of a drawer", problem=drawer_problem)
FORGES["cupboard"] = replace(
    FORGES["local"],
    title="the cupboard",
    capabilities=ForgeCapabilities(plans_by_itself=True),
    connect=connect,
    setup=ForgeSetup(
        readme="Put it into the drawer.\n",
        options=(InitOption(name="drawer", help="which drawer.", metavar="NAME"),),
        problems=problems,
        settings=lambda choices: f"{{type: cupboard, repository: {choices['drawer']}}}",
    ),
)
REPORTS["tabbed"] = ReportFormat(
    shows=frozenset({Shows.FINDINGS, Shows.PLAN, Shows.AUDIT}), findings=tabbed, file="tabbed.tsv"
)
REPORTS["movelist"] = ReportFormat(
    shows=frozenset({Shows.PLAN}), findings=tabbed, plan=movelist, file="movelist.txt"
)
VARIABLES["season"] = PolicyVariable(
    what="the season of the year", over=frozenset({"Plan"}), make=season
)

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["page"]:
            print(variables_page())
        case ["COMPLETE", *before, incomplete]:
            shell = ShellComplete(cli, {}, "gitbot", "_GITBOT_COMPLETE")
            print(*(item.value for item in shell.get_completions(before, incomplete)))
        case words:
            main(words)
