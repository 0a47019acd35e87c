"""Who approved what: a witness of histories that asks nothing of gitbot's own judgement.

It keeps what was shown to people, what they approved at that moment, and what was merged; and says
of every migration that is created whether anybody wanted it. A forge tells times in seconds, so
that what was shown in the second of an approval may have been seen; of two plans, neither was.

What was shown and is not anchored yet, nobody knows once the ledger has lost it: gitbot may take
what was shown before it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.events import PlanShown
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.text.instants import parse_instant
from tests.doubles.repository import MemoryRepository

Want = tuple[str, str, str]  # request, VM, node
Line = tuple[str, int, str]  # head, time and digest of what was shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A plan as it was shown on a head."""

    head: str
    time: int
    digest: str
    moves: frozenset[Want]
    expires: int

    @property
    def line(self) -> Line:
        return self.head, self.time, self.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An approving review of a head."""

    reviewer: str
    head: str
    time: int


def lines_of(ledger: Ledger) -> set[Line]:
    shown = (event for event in ledger.events if isinstance(event, PlanShown))
    return {(event.head, event.time, event.digest) for event in shown}


@dataclass(slots=True, kw_only=True)
class Merged:
    """A merge into the base, with the reviews that stood; `able`: who had rights since then."""

    commit: str
    head: str
    time: int
    author: str
    reviews: Mapping[str, Said]
    shown: tuple[Seen, ...]
    able: set[str] = field(default_factory=set)

    def known(self, lost: set[Line]) -> list[Seen]:
        return [item for item in self.shown if item.line not in lost]

    def seen(self, moment: int, lost: set[Line]) -> Seen | None:
        """The plan that somebody had in front of them; None if there was none, or two."""
        known = self.known(lost)
        before = [item for item in known if item.time < moment]
        found = {item.digest: item for item in known if item.time == moment}
        found |= {item.digest: item for item in before[-1:]}
        return next(iter(found.values())) if len(found) == 1 else None


BROKEN = b"broken: [\n"
TAKEN = "taken"  # the identity that files of several folders may have


@dataclass(eq=False)
class Reviewer:
    required: int
    repository: MemoryRepository
    paths: Mapping[str, str]  # request -> its file
    platform: str  # a file that may act everywhere
    shown: dict[int, list[Seen]] = field(default_factory=dict)  # by pull request
    said: dict[int, dict[str, Said]] = field(default_factory=dict)  # and by reviewer
    merged: list[Merged] = field(default_factory=list)
    fired: Counter[str] = field(default_factory=Counter)
    beside: int = 0  # migrations that were created while a file of the other folder had errors
    clashed: int = 0  # and while the other folder had the identity of another file
    anchored: set[Line] = field(default_factory=set)
    lost: set[Line] = field(default_factory=set)  # neither anchored nor in the ledger
    broken: list[str] = field(default_factory=list)

    def shows(self, number: int, event: PlanShown, plan: PlacementPlan | None) -> None:
        moves = plan.moves if plan is not None else ()
        seen = Seen(
            head=event.head,
            time=event.time,
            digest=event.digest,
            moves=frozenset((str(move.request), move.vm.name, move.to.node) for move in moves),
            expires=parse_instant(event.shown.expires_at),
        )
        self.shown.setdefault(number, []).append(seen)

    def replaces(self, anchored: Ledger, now: Ledger) -> None:
        """Somebody wrote to the ledger's branch; `anchored` is what of it had an anchor."""
        self.anchored |= lines_of(anchored)
        every = {item.line for shown in self.shown.values() for item in shown}
        self.lost = every - self.anchored - lines_of(now)

    def approves(self, number: int, reviewer: str, *, head: str, time: int) -> None:
        said = Said(reviewer=reviewer, head=head, time=time)
        self.said.setdefault(number, {})[reviewer] = said

    def dismisses(self, number: int, reviewer: str) -> None:
        self.said.get(number, {}).pop(reviewer, None)

    def merges(self, number: int, *, commit: str, head: str, time: int, author: str) -> None:
        self.merged.append(
            Merged(
                commit=commit,
                head=head,
                time=time,
                author=author,
                reviews=dict(self.said.get(number, {})),
                shown=tuple(item for item in self.shown.get(number, ()) if item.head == head),
            )
        )

    def may_review(self, people: set[str]) -> None:
        """Who has rights at a look of gitbot's."""
        for merge in self.merged:
            merge.able |= people

    def created(self, migration: KubernetesObject) -> None:
        """A migration was created: why it should not have been, if so."""
        told = str(migration["metadata"]["annotations"]["placement.gitbot.dev/request"])
        request = RequestId.read(told).planned
        vm, name = str(migration["spec"]["vmiName"]), str(migration["metadata"]["name"])
        selector = migration["spec"].get("addedNodeSelector", {})
        want = (request, vm, str(selector.get("kubernetes.io/hostname", "")))
        self.fired[request] += 1
        folder = self.paths[request].rpartition("/")[0]
        tree = self.repository.read_tree("main", "intents/")
        broken = [path for path, text in tree.items() if BROKEN in text]
        self.beside += bool(broken)
        if any(path.startswith(f"{folder}/") for path in broken):
            self.broken.append(f"{want} is created, and a file of its folder has errors")
        self._clash(want, folder)
        if self.fired[request] > 1:
            self.broken.append(f"{request} fires again: {name}")
        reasons = [self._why_not(merge, want) for merge in self.merged]
        if "" not in reasons:
            self.broken.append(f"{want} is created, and nobody approved it: {reasons}")

    def _clash(self, want: Want, folder: str) -> None:
        """Nothing starts in a folder whose name another file has, or anywhere if it is not clear
        that the platform had it first."""
        commit = self.repository.commit("main")
        having = now = self._named(commit.id)
        if len(now) < 2:
            return
        while len(having) > 1 and self.platform in having and commit.parents:
            commit = self.repository.commit(commit.parents[0])
            having = self._named(commit.id)
        first = self.platform not in now or having == {self.platform}
        if not first:
            self.broken.append(f"{want} is created, and the platform took {TAKEN}")
        elif any(path.startswith(f"{folder}/") for path in now):
            self.broken.append(f"{want} is created, and another file has {TAKEN} too")
        self.clashed += 1

    def _named(self, commit: str) -> set[str]:
        tree = self.repository.read_tree(commit, "intents/")
        return {path for path, text in tree.items() if f"name: {TAKEN}}}".encode() in text}

    def _why_not(self, merge: Merged, want: Want) -> str:
        """Why a merge is no approval of a move; "" if it is one."""
        main = self.repository.commit("main").id
        if not self.repository.is_ancestor(merge.commit, main):
            return "its merge is gone"
        path = self.paths[want[0]]
        text = self.repository.read_blob(main, path)
        if text is None or text != self.repository.read_blob(merge.head, path):
            return "the request is not what was merged"
        good = [
            said
            for reviewer, said in merge.reviews.items()
            if said.head == merge.head and reviewer in merge.able - {merge.author}
        ]
        if len(good) < self.required:
            return f"{len(good)} approvals of the merged head"
        moments = [said.time for said in good] if self.required else [merge.time]
        plans = [merge.seen(moment, self.lost) for moment in moments]
        agreed = [plan for plan in plans if plan is not None and want in plan.moves]
        votes = Counter(plan.digest for plan in agreed)
        enough = {digest for digest, count in votes.items() if count >= max(1, self.required)}
        if not enough:
            return "not what was shown"
        enough &= {item.digest for item in merge.known(self.lost)[-1:]}
        if not enough:
            return "another plan was shown last"
        if merge.time > max(plan.expires for plan in merge.shown if plan.digest in enough):
            return "it had expired"
        return ""
