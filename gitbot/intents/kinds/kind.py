"""Kind: all that the product knows of one kind of intent, as one value with hooks.

Generic code asks `gitbot.intents.registry.KINDS`, and never the type of a spec. A hook that needs
constraints imports them when it is called, because `lint` loads no numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from gitbot.calendar import Appointment, Occurrence, Schedule
from gitbot.documents import Path, Report
from gitbot.documents.fields import Value
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.kinds.maintenance_window.spec import NodesSpec
from gitbot.intents.request_history import RequestHistory
from gitbot.intents.schedules import ScheduleSpec
from gitbot.intents.selectors import LabelSelector
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.problem import Goal, HealRule, Request
from gitbot.model.text.instants import FOREVER, Interval
from gitbot.model.text.names import IntentRef

if TYPE_CHECKING:  # constraints load numpy
    from gitbot.constraints.moves.instances import Instances
    from gitbot.intents.rule_cluster import RuleCluster

S = TypeVar("S", bound=Value)


def is_wanted(_ref: IntentRef) -> bool:
    return True


class Role(StrEnum):
    """What a kind is for: `gitbot get` lists it so, and `gitbot init` puts examples together."""

    RULE = "rule"
    WINDOW = "window"
    REQUEST = "request"
    PROPOSAL = "proposal"


@dataclass(frozen=True, slots=True, kw_only=True)
class VmSelector:
    """A selector over VMIs: its path, and the namespaces that it applies to (None: all)."""

    path: Path
    selector: LabelSelector
    namespaces: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Healing:
    """What gitbot does about a breach of a rule.

    `heal` is Propose, Auto or Report. Breaches of a rule that is not `required` are wishes.
    `sustained`: how long a breach lasts before a proposal, in seconds, if the intent says so.
    `every`: so many seconds after the last move for the rule, gitbot leaves a breach alone.
    """

    heal: str
    required: bool = False
    sustained: int | None = None
    every: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcedTerm:
    """What an admission policy enforces for a rule: VMs by labels, apart by a topology key."""

    selector: Mapping[str, Any]
    topology_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRules:
    """The rules of one intent on a cluster, and findings that need the cluster."""

    rules: tuple[RuleConstraint, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalInputs:
    """What the goals of requests and windows depend on, beside the cluster.

    `now` is in seconds UTC, `zone` the cluster's time zone. Only intents that are `wanted` give
    goals and findings.
    """

    now: int
    zone: str | None
    past: RequestHistory
    wanted: Callable[[IntentRef], bool] = is_wanted


CompiledGoals = tuple[tuple[Goal, ...], tuple[Finding, ...]]


class AgendaView(Protocol):
    """What a kind asks about the calendar that its events are for; see `calendar_events.Agenda`."""

    @property
    def intents(self) -> IntentSet: ...

    @property
    def zone(self) -> str | None: ...

    @property
    def announce(self) -> int: ...

    @property
    def cancelled(self) -> Collection[str]: ...

    @property
    def finished(self) -> Collection[str]: ...

    @property
    def begins(self) -> Mapping[RequestId, int]: ...

    @property
    def standings(self) -> Mapping[str, str]: ...

    @property
    def count(self) -> Callable[[NodesSpec], int | None]: ...

    def concerns(self, namespace: str) -> bool: ...

    def frozen(self, time: Interval, namespace: str) -> str: ...

    def openings(self, schedule: Schedule, after: int, before: int) -> tuple[Interval, ...]: ...

    def event(
        self,
        intent: Intent,
        kind: Literal["window", "freeze"],
        schedule: ScheduleSpec | None,
        occurrence: Occurrence | None,
    ) -> Appointment: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledEntries:
    """The calendar events of an intent with a schedule: one for each occurrence.

    Without a schedule, the intent always applies, and `entry` gets None.
    """

    schedule: ScheduleSpec | None
    entry: Callable[[Occurrence | None], Appointment]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedEntries:
    """The calendar events of an intent, all that touch [after, before) in seconds UTC.

    The next event is looked for at most `ahead` seconds ahead.
    """

    between: Callable[[int, int], list[Appointment]]
    ahead: int = FOREVER


CalendarEntries = ScheduledEntries | DatedEntries


def acts_everywhere(_spec: Mapping[str, Any]) -> bool:
    return True


def no_selectors(_intent: Intent, _spec: Any) -> Iterator[VmSelector]:
    return iter(())


def no_window(_spec: Any) -> None:
    return None


def no_healing(_spec: Any) -> None:
    return None


def no_admission(_spec: Any) -> None:
    return None


def no_entries(_agenda: AgendaView, _intent: Intent, _spec: Any) -> None:
    return None


def no_rules(_intent: Intent, _spec: Any, _cluster: RuleCluster) -> CompiledRules:
    return CompiledRules()


def no_goals(_intents: IntentSet, _instances: Instances, _asked: GoalInputs) -> CompiledGoals:
    return (), ()


def heal_rule(_spec: Any, request: Request, _instances: Instances, _past: RequestHistory) -> Goal:
    return HealRule(request=request, rule=request.intent)


def no_refusals(_intent: Intent, _spec: Any, _plugins: Collection[str]) -> Iterator[Finding]:
    return iter(())


def is_measured(_spec: Any, _load: ClusterLoad) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[S]):
    """One kind of intent.

    Text: `spec` is the type of its spec, `check` finds what types cannot, `example` is the document
    that `gitbot init` writes ("" for none). A field of the spec with the name `schedule` or
    `calendar` is one. `moves`: a proposal may carry moves for an intent of this kind. `by_bot`:
    only the bot's pull requests write it. `everywhere`: whether a document without a namespace,
    given its plain spec, concerns VMs of all namespaces.

    Meaning: `window` names the MaintenanceWindow that the spec refers to. `selectors`, `healing`,
    `admission` and `entries` read the spec. `rules` compiles to constraints; `refusals`
    are what admission plugins that the cluster runs will refuse. `goals` compiles the kind's
    intents to what is to be done now, `heal` gives what heals a breach. `measured` gives the
    rules that load or requests may break, over all intents of the kind at once; they bind only the
    plans that heal them. `unmeasured` is why a rule cannot be judged by the present load.
    """

    name: str
    spec: type[S]
    namespaced: bool
    role: Role
    check: Callable[[Report], None]
    description: str
    example: str = ""
    metadata: type[Value] | None = None
    moves: bool = True
    by_bot: bool = False
    everywhere: Callable[[Mapping[str, Any]], bool] = acts_everywhere
    window: Callable[[S], str | None] = no_window
    selectors: Callable[[Intent, S], Iterator[VmSelector]] = no_selectors
    healing: Callable[[S], Healing | None] = no_healing
    admission: Callable[[S], EnforcedTerm | None] = no_admission
    entries: Callable[[AgendaView, Intent, S], CalendarEntries | None] = no_entries
    rules: Callable[[Intent, S, RuleCluster], CompiledRules] = no_rules
    refusals: Callable[[Intent, S, Collection[str]], Iterator[Finding]] = no_refusals
    measured: (
        Callable[
            [Iterable[tuple[Intent, S]], ClusterSnapshot, ClusterLoad], tuple[RuleConstraint, ...]
        ]
        | None
    ) = None
    goals: Callable[[IntentSet, Instances, GoalInputs], CompiledGoals] = no_goals
    heal: Callable[[S, Request, Instances, RequestHistory], Goal] = heal_rule
    unmeasured: Callable[[S, ClusterLoad], str] = is_measured
