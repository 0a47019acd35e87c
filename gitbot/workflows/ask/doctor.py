"""Doctor: finds what would keep gitbot from working, before a night depends on it.

It asks everything, even after failures; every failure comes with its fix. It changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from gitbot.errors import ClusterForbidden
from gitbot.execution.cluster_facts import ClusterFacts
from gitbot.execution.ledger_folds import stop_flag, window_as_merged
from gitbot.intents import MaintenanceWindowSpec
from gitbot.kubernetes.objects import at, name_of
from gitbot.kubevirt.kubevirt_object import version_of
from gitbot.kubevirt.limits import limits_of
from gitbot.kubevirt.versions import SAFE
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import MoveEvent
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.diagnosis import Check, Outcome, asked, failed, passed, warned
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.instants import format_instant
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.settings import Settings
from gitbot.workflows.ask.maintenance import cordon_of, nodes_of
from gitbot.workflows.core.base_branch import readable_base
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.published_snapshots import snapshot_branch
from gitbot.workflows.core.stop_conditions import (
    MAX_SKEW,
    MovedStop,
    UnknownStop,
    cluster_flag,
    outdated,
    standstill,
)
from gitbot.workflows.ledger.anchor import ADOPT, known_migrations, read_anchor
from gitbot.workflows.ledger.kept_plans import UNAPPROVED_BYTES, no_room, unapproved_bytes

RBAC = "deploy/rbac"
APPLY_RBAC = f"kubectl apply -k {RBAC}"
_RESUME = 'gitbot resume --reason "..."'


class Questions(Protocol):
    """Questions to a cluster about rights and KubeVirt; answers are words for people."""

    def missing(self, group: str, namespace: str = "") -> tuple[str, ...]:
        """Rights of a group (read, watch, stop-flag, move, nodes) that the account lacks.

        A namespace asks for rights that need to hold only there.
        """

    def excess(self) -> tuple[str, ...]:
        """Rights that the account has and gitbot never uses."""

    def migrating_roles(self) -> tuple[str, ...]:
        """The roles of people in namespaces that may create migrations.

        Raises ClusterForbidden if the account may not read them.
        """

    def evicting_roles(self) -> tuple[str, ...]:
        """Those that may evict pods. Raises as migrating_roles."""

    def pins(self) -> bool:
        """Whether migrations have `spec.addedNodeSelector`."""


def repository_checks(shell: RunContext, *, rehearse: Callable[[], None]) -> tuple[Check, ...]:
    """Configuration, ledger, published snapshot and stop flag. `rehearse` must not push.

    If the base branch has errors, that is one failure; the rest goes by its newest commit without.
    """
    return (
        *asked("configuration/base", lambda: _base(shell)),
        *asked("ledger/read", lambda: _ledger(shell)),
        *asked("ledger/anchor", lambda: _anchor(shell, ask_cluster=False)),
        *asked("ledger/push", lambda: _push(rehearse)),
        *asked("snapshot/published", lambda: _snapshot(shell)),
        *asked("forge/owners", lambda: _owners(shell)),
    )


def _base(shell: RunContext) -> Iterable[Check]:
    readable = readable_base(shell)
    base = readable.engine
    name = "configuration/base"
    if readable.broken:
        good = f"the newest commit without errors is {readable.commit[:12]}"
        yield failed(name, f"{readable.broken}\n{good}", "git pull && gitbot lint")
    elif base.revision.broken:
        words = "\n".join(item.words for item in base.revision.broken)
        yield failed(name, words, "git pull && gitbot lint")
    else:
        yield passed(name, f"{shell.base_branch} is at {base.commit[:12]} and valid")
    if base.settings.mode_is_missing:
        write = f"write mode: Enforce in {CONFIGURATION_FILE}"
        fix = f"{write} to have approved moves carried out, else Observe"
        words = (
            "no mode is written, and the default is Observe: plans and comments, applies nothing"
        )
        yield warned("configuration/mode", words, fix)
    elif not base.settings.applies:
        fix = f"write mode: Enforce in {CONFIGURATION_FILE} when you trust what the comments show"
        yield warned("configuration/mode", "mode Observe: plans and comments, applies nothing", fix)
    else:
        yield passed("configuration/mode", "mode Enforce: what is approved is carried out")


def _ledger(shell: RunContext) -> Iterable[Check]:
    ledger = shell.ledger_store.read()
    count = len(ledger.events)
    words = f"{count} {'entry' if count == 1 else 'entries'}, the chain is whole"
    if newer := outdated(ledger, shell.cluster_name):
        yield failed("ledger/read", newer, "install the gitbot that wrote it, or a newer one")
    else:
        yield passed("ledger/read", words)
    yield _ledger_room(shell, ledger)
    enforces = readable_base(shell).engine.settings.applies
    if enforces and not any(
        isinstance(event, MoveEvent) for event in ledger.requests(shell.cluster_name)
    ):
        fix = (
            f"write mode: Observe in {CONFIGURATION_FILE} for the first days: plans without effect"
        )
        yield warned("configuration/first-days", "nothing was moved yet, and mode is Enforce", fix)
    if reason := stop_flag(ledger, shell.cluster_name):
        held = standstill(reason, ledger, shell.cluster_name)
        yield warned("ledger/hold", f"everything is stopped: {held}", _RESUME)


def _anchor(shell: RunContext, *, ask_cluster: bool = True) -> Iterable[Check]:
    """The last line that the forge, or cluster and forge, know of the ledger."""
    name = "cluster/anchor" if ask_cluster else "ledger/anchor"
    anchor = read_anchor(shell, ask_cluster=ask_cluster)
    there = known_migrations(shell, anchor) if ask_cluster else ()
    missed = anchor.stop(shell.ledger_store.read(), there)
    if missed:
        moved = isinstance(missed, MovedStop)
        mend = f"mend name or context; or {ADOPT}"
        yield failed(name, missed, mend if moved else "gitbot ledger verify; restore the branch")
    elif anchor.known:
        yield passed(name, f"the ledger has the line that is known to {' and '.join(anchor.known)}")
    elif ask_cluster:
        yield passed(name, "the ledger has no anchor yet")


def _namespace(shell: RunContext) -> Iterable[Check]:
    """The namespace of the stop flag and of the ledger's anchor."""
    known = {name_of(item).name for item in shell.cluster.snapshot().of("Namespace")}
    if known and "gitbot" not in known:
        words = "there is no namespace gitbot: the cluster can hold no stop flag and no anchor"
        yield warned("cluster/namespace", words, f"kubectl apply -f {RBAC}/10-namespace.yaml")


def _flag(shell: RunContext) -> Iterable[Check]:
    """The stop flag in the cluster, which also `kubectl create configmap` sets."""
    if reason := cluster_flag(shell.cluster):
        wrong = isinstance(reason, UnknownStop)
        words = reason if wrong else f"everything is stopped by gitbot/gitbot-hold: {reason}"
        fix = f"{APPLY_RBAC}; see cluster/stop-flag" if wrong else _RESUME
        yield (failed if wrong else warned)("cluster/hold", words, fix)


def _ledger_room(shell: RunContext, ledger: Ledger) -> Check:
    name, size = "ledger/size", unapproved_bytes(ledger)
    words = f"{size} bytes of plans that nobody approved, of {UNAPPROVED_BYTES}"
    fix = "close pull requests that nobody will merge"
    if reason := no_room(ledger, shell.clock.now()):
        return failed(name, f"gitbot shows and proposes no new plan: {reason}", fix)
    if size > UNAPPROVED_BYTES // 2:
        return warned(name, words, fix)
    return passed(name, words)


def _push(rehearse: Callable[[], None]) -> Iterable[Check]:
    rehearse()
    yield passed("ledger/push", "gitbot may push branch gitbot/ledger (nothing was pushed)")


def _snapshot(shell: RunContext) -> Iterable[Check]:
    name = "snapshot/published"
    settings = readable_base(shell).engine.settings
    run = "let `gitbot reconcile` run: every ten minutes, or with --watch"
    if not settings.publish_snapshot:
        fix = "set publishSnapshot: true, or give pull request jobs access to the cluster"
        yield warned(name, "publishSnapshot is off: jobs without a cluster cannot plan", fix)
        return
    head = shell.repository.resolve(snapshot_branch(shell.cluster_name))
    if head is None:
        yield warned(name, f"no snapshot of {shell.cluster_name} is published yet", run)
        return
    taken = shell.repository.commit(head).time
    age = shell.clock.now() - taken
    words = f"the newest was taken {format_instant(taken)}, {age // 60} min ago"
    if age < -MAX_SKEW:
        words = f"the newest is from the future: taken {format_instant(taken)}"
        yield warned(name, f"{words}, {-age} s ahead of this machine's clock", _SET_CLOCK)
    elif age > settings.snapshot_max_age:
        oldest = settings.snapshot_max_age // 60
        yield failed(name, f"{words}; plans need one of at most {oldest} min", run)
    else:
        yield passed(name, words)


def _owners(shell: RunContext) -> Iterable[Check]:
    """Silent without teams: accounts are asked for only when they approve."""
    settings = readable_base(shell).engine.settings
    named = [
        *(team for item in settings.owners for team in item.teams),
        *(team for item in settings.overrides for team in item.owners),
    ]
    teams = sorted({team for team in named if "/" in team})
    gone = [team for team in teams if shell.forge.team_members(team) is None]
    fix = "mend owners[] and overrides[], or give the App Members: read of the organization"
    if gone:
        words = "there is no such team, or gitbot may not read it, so it approves nothing"
        yield failed("forge/owners", f"{', '.join(gone)}: {words}", fix)
    elif teams:
        yield passed("forge/owners", f"the teams of owners are known: {', '.join(teams)}")


def cluster_checks(shell: RunContext, questions: Questions) -> tuple[Check, ...]:
    found = asked("cluster/clock", lambda: _clock(shell))
    if found[0].outcome is Outcome.FAIL and found[0].fix != _SET_CLOCK:
        return found  # the cluster will not answer the rest either
    return (
        *found,
        *rights_checks(questions, readable_base(shell).engine.settings, lambda: _namespaces(shell)),
        *asked("cluster/namespace", lambda: _namespace(shell)),
        *asked("cluster/hold", lambda: _flag(shell)),
        *asked("cluster/anchor", lambda: _anchor(shell)),
        *asked("cluster/nodes", lambda: _nodes(shell, questions)),
        *asked("kubevirt/version", lambda: _kubevirt(shell)),
        *asked("cluster/cordons", lambda: _cordons(shell)),
    )


_SET_CLOCK = "synchronise the clocks of this machine and of the control plane (NTP)"


def _clock(shell: RunContext) -> Iterable[Check]:
    skew = shell.cluster.server_time() - shell.clock.now()
    words = f"the API server's clock is {abs(skew)} s {'ahead of' if skew > 0 else 'behind'} ours"
    if abs(skew) > MAX_SKEW:
        message = f"{words}; with more than {MAX_SKEW} s nothing is started"
        yield failed("cluster/clock", message, _SET_CLOCK)
    else:
        yield passed("cluster/clock", words)


_GRANTS = (
    ("cluster/read", "read", "gitbot-reader", "gitbot may read what a snapshot holds"),
    ("cluster/estimate", "estimate", "gitbot-reader", "gitbot may read what estimates need"),
    ("cluster/watch", "watch", "gitbot-reader", "gitbot may watch what it lists"),
    ("cluster/stop-flag", "stop-flag", "gitbot-hold-reader", "gitbot may read the stop flag"),
    ("cluster/move", "move", "gitbot-mover", "gitbot may create and delete migrations"),
)


def _namespaces(shell: RunContext) -> tuple[str, ...]:
    """The namespaces that have VMIs."""
    found = shell.cluster.snapshot().of("VirtualMachineInstance")
    return tuple(sorted({name_of(item).namespace for item in found}))


def rights_checks(
    questions: Questions, settings: Settings, namespaces: Callable[[], tuple[str, ...]] = tuple
) -> tuple[Check, ...]:
    """What a cluster alone can answer, when the forge and its repository are out of reach.

    `namespaces` are those of VMs: the mover may be bound in each of them, or in all.
    """
    return (
        *asked("cluster/read", lambda: _rights(questions, settings, namespaces)),
        *asked("cluster/too-much", lambda: _excess(questions)),
        *asked("cluster/around", lambda: _around(questions)),
        *asked("kubevirt/pins", lambda: _pins(questions)),
    )


def _rights(
    questions: Questions, settings: Settings, namespaces: Callable[[], tuple[str, ...]]
) -> Iterable[Check]:
    for name, group, role, good in _GRANTS:
        missing = questions.missing(group)
        fix = f"a cluster administrator gives it: {APPLY_RBAC}, or binds role {role} to the account"
        if missing and group == "move" and (bound := _bound(questions, namespaces())):
            yield bound
        elif not missing:
            yield passed(name, good)
        elif group == "move" and not settings.applies:
            message = f"not allowed: {', '.join(missing)}; mode Observe does not need it"
            yield warned(name, message, fix)
        elif group == "estimate":
            message = f"not allowed: {', '.join(missing)}; a policy may make moves slower than said"
            yield warned(name, message, fix)
        elif group == "watch":
            first, more = missing[0], len(missing) - 1
            others = f" and {more} more" if more else ""
            message = f"not allowed: {first}{others}; each look lists everything"
            yield warned(name, message, fix)
        else:
            yield failed(name, f"not allowed: {', '.join(missing)}", fix)


def _bound(questions: Questions, namespaces: tuple[str, ...]) -> Check | None:
    """The answer if RoleBindings give the right to move in some namespaces; None if in none."""
    lacking = [name for name in namespaces if questions.missing("move", name)]
    given = [name for name in namespaces if name not in lacking]
    if not given:
        return None
    words = f"gitbot may create and delete migrations in {', '.join(given)}"
    if not lacking:
        return passed("cluster/move", words)
    fix = f"bind ClusterRole gitbot-mover ({RBAC}/30-mover.yaml) there, or move no VM of theirs"
    return warned("cluster/move", f"{words}, and not in {', '.join(lacking)}", fix)


def _nodes(shell: RunContext, questions: Questions) -> Iterable[Check]:
    base = readable_base(shell).engine
    cordons = any(
        isinstance(intent.spec, MaintenanceWindowSpec) and intent.spec.drain.cordon == "Gitbot"
        for intent in base.intents.intents
    )
    if not questions.missing("nodes"):
        yield passed("cluster/nodes", "gitbot may label and cordon nodes")
    elif cordons:
        message = "a window says `cordon: Gitbot`, and gitbot may not patch nodes"
        fix = f"a cluster administrator gives it: kubectl apply -k {RBAC}/optional-cordon"
        yield failed("cluster/nodes", message, fix)
    else:
        yield passed("cluster/nodes", "nodes in maintenance get no labels: that right is optional")


def _excess(questions: Questions) -> Iterable[Check]:
    found = questions.excess()
    if found:
        message = f"the account may do what gitbot never does: {', '.join(found)}"
        fix = f"use the account gitbot-mover of {RBAC}, not a person's or an administrator's"
        yield warned("cluster/too-much", message, fix)
    else:
        yield passed("cluster/too-much", "the account has no right that gitbot never uses")


_MIGRATE = "kubevirt.io:migrate"
_AGGREGATED = "rbac.authorization.k8s.io/aggregate-to"


def _around(questions: Questions) -> Iterable[Check]:
    """Whether people may migrate VMs without gitbot by a role that they have in a namespace."""
    name = "cluster/around"
    try:
        roles = questions.migrating_roles()
    except ClusterForbidden as error:
        message = f"whether namespace admins can migrate VMs around gitbot is unknown: {error}"
        yield warned(name, message, f"{APPLY_RBAC} lets it read these ClusterRoles")
        return
    if not roles:
        evicting = questions.evicting_roles()
        words = f"{_MIGRATE} is aggregated to neither admin nor edit"
        more = f"; an eviction, which {' and '.join(evicting)} may ask for, still makes KubeVirt "
        more = f"{more}migrate a VM with evictionStrategy LiveMigrate" if evicting else ""
        yield passed(name, f"namespace admins cannot create migrations: {words}{more}")
        return
    who = f"who has ClusterRole {' or '.join(roles)} in a namespace can migrate its VMs around"
    message = f"{who} gitbot: {_MIGRATE}, or another ClusterRole with that right, is aggregated"
    labels = " ".join(f"{_AGGREGATED}-{role}-" for role in roles)
    fix = (
        f"to end that: kubectl label clusterrole {_MIGRATE} {labels}; others: kubectl get "
        f"clusterroles -l {_AGGREGATED}-{roles[-1]}=true (before release 1.5 kubevirt.io:admin "
        "and kubevirt.io:edit have the right: upgrade); gitbot audit names each migration"
    )
    yield warned(name, message, fix)


def _pins(questions: Questions) -> Iterable[Check]:
    if questions.pins():
        yield passed("kubevirt/pins", "migrations have spec.addedNodeSelector")
    else:
        message = "migrations have no spec.addedNodeSelector: no move can be given a target"
        yield failed("kubevirt/pins", message, "upgrade KubeVirt to 1.6 or newer")


def _kubevirt(shell: RunContext) -> Iterable[Check]:
    snapshot = shell.cluster.snapshot()
    found = snapshot.of("KubeVirt")
    if not found:
        message = "there is no KubeVirt object in the cluster"
        yield failed("kubevirt/version", message, "install KubeVirt, or choose another context")
        return
    version = str(at(found[0], "status", "observedKubeVirtVersion", default="")) or "unknown"
    message = f"KubeVirt {version}, Kubernetes {snapshot.kubernetes_version}"
    numbers = version_of(found[0])
    if numbers is not None and numbers < SAFE:
        message += ": its API server takes the certificate of any front proxy (CVE-2025-64432)"
        yield warned("kubevirt/version", message, "upgrade KubeVirt to 1.6.1 or newer")
    else:
        yield passed("kubevirt/version", message)
    settings = readable_base(shell).engine.settings
    yield _limits(settings, shell.cluster_name, limits_of(found[0]))
    yield _nodes_ready(snapshot)


def _cordons(shell: RunContext) -> Iterable[Check]:
    """Every cordon of gitbot's that stands, also of occurrences that nobody shows any more."""
    ledger, cluster = shell.ledger_store.read(), shell.cluster_name
    facts = ClusterFacts.of(
        PlacementProblem(cluster=cluster, now=shell.clock.now(), snapshot=shell.cluster.snapshot()),
        (),
    )
    found = []
    for occurrence, nodes in nodes_of(ledger, cluster).items():
        begun = window_as_merged(ledger, cluster=cluster, occurrence=occurrence)
        for node in nodes:
            words = cordon_of(facts, node, begun.done if begun else "")
            if words.startswith("cordoned by gitbot"):
                found.append(f"{node.node} ({occurrence}): {words}")
    name, fix = "cluster/cordons", "gitbot status shows what each of them waits for"
    yield warned(name, "; ".join(found), fix) if found else passed(name, "no cordon of gitbot's")


def _limits(settings: Settings, cluster: str, own: tuple[int, int]) -> Check:
    configured = settings.cluster(cluster)
    assert configured is not None
    wanted = configured.limits
    words = f"KubeVirt runs {own[0]} migrations at once, {own[1]} out of a node"
    name = "kubevirt/limits"
    if wanted.parallel > own[0] or wanted.per_source_node > own[1]:
        message = f"{words}; the configuration asks for {wanted.parallel} and "
        message += f"{wanted.per_source_node}: the lower ones count"
        ours, theirs = CONFIGURATION_FILE, "spec.configuration.migrations of KubeVirt"
        fix = f"lower limits in {ours}, or raise {theirs}"
        return warned(name, message, fix)
    return passed(name, words)


def _nodes_ready(snapshot: ClusterSnapshot) -> Check:
    nodes = len(snapshot.of("Node"))
    ready = sum(
        any(
            item.get("type") == "Ready" and item.get("status") == "True"
            for item in at(node, "status", "conditions", default=())
        )
        for node in snapshot.of("Node")
    )
    name = "cluster/nodes-ready"
    if ready < nodes:
        message = f"{ready} of {nodes} nodes are Ready"
        return warned(name, message, "plans avoid the others; see kubectl get nodes")
    return passed(name, f"all {nodes} nodes are Ready")
