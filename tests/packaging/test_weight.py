"""The house stays light: bounds for the whole, for a module and for a function, in lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

HOUSE = 45_000  # gitbot/ without the simulation
CAPABILITIES: dict[str, int] = {  # what each capability added since weighs, in lines
    "audit --load: a descheduler's classes, VMs that relieve nodes, what stays": 462,
    "measured load: three sources, files, checks of targets, ranking": 840,
    "effects are claimed, and left alone by others until they can no longer come": 430,
    "what was decided is looked at once more right before it is sent": 75,
    "the comment begins with a sentence, and weighs each move": 85,
    "comments say when and how: window, cordons, deadline, queue, sums of memory": 565,
    "the report's timeline has a lane for each node or request, and local time": 185,
    "every rule of SARIF has title, meaning, help and link": 40,
    "a change that moves nothing yet says what it leads to, when and how": 50,
    "comments link the complete report that their run keeps": 65,
    "titles of pull requests say what a merge does": 45,
    "move, drain and keep-apart open pull requests": 580,
    "owners bind folders to namespaces": 145,
    "named owners override what a policy denies; status lists exemptions and overrides": 260,
    "owners approve what moves: nodes, zones, teams, CODEOWNERS; who is missing": 950,
    "opt-outs: a label keeps gitbot away from a VM": 70,
    "exemptions from policies: reason, owner, expiry": 215,
    "policy packs: what they see of fleet, nodes and KubeVirt; pages, mutants, explain": 540,
    "a branch that Git refuses stops nobody": 60,
    "what running VMs require of each other counts as rules": 140,
    "rules of thousands of intents find their VMs by label": 125,
    "files of 30,000 VMs are read in two seconds, equal pods decoded once": 160,
    "a plan of thousands of moves costs what they touch: counts by domain, undo": 735,
    "a board says what one node has free, takes, and who blocks it": 180,
    "a rolling maintenance compares orders of its nodes, and VMs step aside in it": 85,
    "plans where room is scarce: VMs step aside": 740,
    "one large VM makes room for several healings": 75,
    "forks share the counts of rules, and copies of pods are quick": 81,
    "what a node holds is kept, not asked for again": 22,
    "a plan says how it is known that no plan has fewer moves": 110,
    "status is one page with what to type next, and shows broken intents": 966,
    "get lists what is declared and how it is": 592,
    "init goes on in a folder with files, and asks for what is missing": 80,
    "a Tab completes commands, options and names; help as a command": 195,
    "explain judges the intents of the repository, a request, a window": 500,
    "plan, check and render read the forge, or say how old their ledger is; --at": 300,
    "a move waits until the node that a VM leaves answers": 60,
    "holds prove that no plan exists, and say what would help": 720,
    "proofs name the rules and windows that close other nodes": 105,
    "proofs name rules that cannot all hold, as the audit does": 90,
    "what finds no room is not searched": 12,
    "each move of a plan has its time and names what it waits for": 625,
    "drains say what an eviction would do; freezes stop only what they forbid": 80,
    "holds say why and who, refusals of the API server are quoted, plugins assumed": 85,
    "apply names what nobody planned; hints that fit the field": 125,
    "a window over a whole pool empties every node once": 400,
    "plan says how far it is, and Ctrl-C prints the best plan so far": 200,
    "what thousands of schedules of faults found is mended": 40,
    "tokens in no argument list, folders of killed runs swept, logs made harmless": 95,
    "moves change as one table says, which is checked before anything is written": 80,
    "status and doctor say what releases a cordon; doctor names who grants reviews": 75,
    "calendar: events, words, a month, the command": 590,
    "calendar files: openings out, freezes in": 450,
    "the report draws the windows of the year ahead, before and after a change": 178,
    "schedules leave out the days of a calendar file": 120,
    "drains that cannot go on get their rest, removed windows a way home; full homes are named": 65,
    "pull requests say which openings appear, move, vanish": 110,
    "windows that are frozen, too short, or open in two zones, with the arithmetic": 570,
    "the canary of a node validation is brought home": 50,
    "a missing mode is Observe, and status and comments name the mode": 40,
    "-n, -A, -l and -o mean the same in every command that lists or asks": 360,
    "status, get and ledger show look at the clone while the forge does not answer": 65,
    "did you mean, for subcommands, options and names": 40,
    "help says what a finding means; SARIF links to the package's documentation": 55,
    "colour on a terminal, from one module of styles": 90,
    "plans say what was minimised; short drains say which nodes can be emptied": 150,
    "groups that wait for a node that is away are not proposed again": 15,
    "audit: placed pods judged again, rules, contradictions; the command": 1_190,
    "simulate: losses, drains, growth, labels, rules, single losses, a picture; the command": 1_035,
    "LoadRule: the kind, its rule over measured load, its proposal": 265,
    "healings that come and go have one pull request a day": 45,
    "audit names who else moves VMs": 130,
    "status, plans and the ledger say whose migrations others are": 90,
    "audit asks for labels, wishes and own terms once": 45,
    "audit reads names, phases and terms that all pods have at once": 45,
    "single losses end where what is left surely fits": 45,
    "audit --propose takes pins out of manifests, and offers the rule that says the same": 510,
    "audit scores in the ledger and on the dashboard, ages of all findings": 195,
    "audit builds Kustomizations, and reads manifests of another repository at any ref": 210,
    "resilience: single losses before and after each plan, proved or searched": 490,
    "audit: pins, drift from Git, VMs that cannot migrate, single points": 560,
    "estimates follow KubeVirt's limits and MigrationPolicies; a missing right is said": 160,
    "nothing is concluded from lists that are old or lack most of the cluster": 125,
    "refusals that may pass are waited for, announced moves are resolved in one pass": 85,
    "a ledger that went back between two runs stops apply; cluster and forge know its end": 205,
    "policies and the base of a plan are judged again at apply, single losses too": 170,
    "Kubernetes' CEL libraries: quantity, semver, ip, cidr, url, format, lists, regex": 1_180,
    "policy eval: parts, places and values of an expression; errors at their place": 560,
    "50 policies over 5,000 moves in a second: syntax, what is read, classes, batches": 605,
    "policies: names as in Kubernetes, variables of every type, transformMap": 170,
    "labels of a drain under way are not left over; nodes that stay have no manifest": 20,
    "policies run in a process with limits; many windows and slow plans are bounded": 690,
    "a cordon comes back, comes once, and is not somebody else's; what began ends": 270,
    "apply shows waves, reading shows progress; status on Git alone; more did you mean": 270,
    "apply says what it did to nodes; what acts later is named with its time": 80,
    "terminals say when and how; every slow command says what it does; empty zones named": 110,
    "large drains: choices remembered, scores, labels and rules at one look": 160,
    "large drains: equal VMs are placed in bulk, in any order": 305,
    "what VMs that stay ask for is read from their running pods": 25,
    "no room is proven without asking each VM where it could be": 30,
    "requests even out how full nodes are": 190,
    "windows that were edited after their end are named by apply, propose and status": 35,
    "a look asks the events of a ledger once": 20,
    "a demo that was killed starts again in its folder": 25,
    "pull requests are read, compiled, planned in a process with limits; check --base too": 422,
    "two merges of one plan are carried out as one": 25,
    "the local forge names teams; policy test --mutate counts what is noticed": 25,
    "a snapshot of another cluster is refused by every command; cancelled returns are over": 35,
    "explain judges the windows that are due; every rule of SARIF has a link": 20,
    "status knows what to type before a merge is worth anything, and empty openings": 65,
    "check and propose keep off nodes that a window empties soon": 35,
    "who opens a pull request on a local forge is told to plan it first": 25,
    "--before and --at take a time of day; a window with empty nodes says so": 90,
    "equal parts of snapshots are read once; commands end without freeing": 145,
    "the exact search counts room itself, and asks last what the board allows": 155,
    "snapshots have the KubeDescheduler: its mode and cooldown in audit and status": 55,
    "audit --rule knows names that nothing has; a reader that goes is no finding": 40,
    "a pull request that unpins names VMs for which no rule can be offered": 15,
    "programs, replacements and grafts of a clone have no say in what is read": 20,
    "what rules and terms say of a few VMs is kept by the places that they count": 165,
    "errors of plain objects name their files, the field, what was found and expected": 20,
    "small, very full clusters: nothing is drafted or searched twice, targets ranked late": 100,
    "lint and gitbot policy use the process for policies; all policies together are bounded": 105,
    "branches may have any name; lines of CODEOWNERS end where a review shows it": 19,
    "a proxy of no use is no bug, and its password is not quoted": 7,
    "moves that are placed for any order of starts and ends are judged once less": 38,
    "what nobody reads is named: intents in other files, VMIs without uid, unknown -n": 70,
    "amounts and taints that no server stores are refused; a closed or full remote is named": 42,
    "damaged ledgers and patterns of owners say what to do, missing room for files what lacks": 28,
    "a KubeVirt before 1.6 takes only moves that are not pinned": 31,
    "a busy server, and one that never answers a create, do not end or keep a pass": 27,
    "loads and calendar files of others are bounded, and no freeze of a file ends early": 98,
    "what exists is recorded before a person's command deletes it; answers are not forgotten": 95,
    "the kernel gives up a request when gitbot does": 5,
    "a claim is looked at once more when the connection stands": 45,
    "what has begun is recalled and cancelled while the base branch has errors": 80,
    "an approval that nobody can tell of pauses; a migration names its ledger": 95,
    "only the API server says what is absent and what it refuses; tokens are not quoted": 47,
    "a status of somebody else is not gitbot's own; a remote is named without its token": 22,
    "a damaged ref or an unfinished list of branches is not an empty one": 11,
    "a push that was not answered in time may be done": 11,
    "a look of minutes ago, or at an older base, is not acted on": 14,
    "folders that look alike are refused; a proposal asks the owners of its base too": 55,
    "a node in service returns when its window ends; lines in other files, plans verified": 47,
    "the mark of a cordon names its window and its ledger": 26,
    "answers of a forge or an API server of another form, or without an end, are errors": 85,
    "VMs step aside in other namespaces only if somebody can approve it": 10,
    "no move goes to a node that does not answer, and none makes a detour for want of a pin": 25,
    "the processes for policies and plans change no file and signal nobody": 70,
    "a Preferred rule that no plan can keep blocks nothing": 10,
    "text of others is harmless in CSV, SARIF and calendars, too": 17,
    "a branch in the way of a proposal or of snapshots stops nothing else": 28,
    "a signal ends a Git that has just started": 24,
    "a drain can be cancelled while a node of it drains or is to come": 35,
    "what is approved of a request and not begun can be cancelled": 30,
    "a drain pauses while a policy denies it; a plan that may begin nothing begins no node": 30,
    "all plans of a window count for its nodes; a refused cordon stops its drain alone": 32,
    "what has begun is recalled and cancelled while the forge does not answer": 40,
    "slow answers hide no clock; a merge that nobody names, and half a sign, are told": 14,
    "a plan counts once its comment says it; checks and comments that a run left are mended": 78,
}
SIMULATION = 9_000
MODULE = 350
FUNCTION = 50
PACKAGE = Path(__file__).parents[2] / "gitbot"
MODULES = {path.relative_to(PACKAGE): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
LINES = {path: text.count("\n") for path, text in MODULES.items()}


def functions() -> Iterator[tuple[int, str]]:
    for path, text in MODULES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield node.end_lineno - node.lineno + 1, f"{path}:{node.lineno} {node.name}"


def test_the_whole() -> None:
    simulation = sum(count for path, count in LINES.items() if path.parts[0] == "simulation")
    assert simulation <= SIMULATION
    assert sum(LINES.values()) - simulation <= HOUSE + sum(CAPABILITIES.values())


def test_modules() -> None:
    assert {str(path): count for path, count in LINES.items() if count > MODULE} == {}


def test_functions() -> None:
    assert [found for found in functions() if found[0] > FUNCTION] == []
