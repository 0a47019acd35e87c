"""A history that is told: real check, publish and apply between what people do to Git and forge."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from gitbot.errors import Bug, GitbotError
from gitbot.model.ledger.events import KnownEvent, PlanShown
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.forge import MergeMethod
from gitbot.published.ledger_lines import chain
from gitbot.workflows.apply import apply, hold, resume
from gitbot.workflows.ask import write_dashboard
from gitbot.workflows.check import publish
from gitbot.workflows.ledger.anchor import rollback_reason
from tests.doubles.trouble import evict_instance
from tests.torture.annals import NAMES, OTHERS, PATHS, PEOPLE, PLATFORM, SPACES, VMS, Annals, named
from tests.torture.history import BESIDE, CLASHED, Act, History
from tests.torture.reviewer import BROKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a history: what was broken ("" for nothing), what happened, what was created."""

    broken: str
    acts: Counter[str]
    refused: Counter[str]
    created: int
    lines: tuple[str, ...] = ()


@dataclass(eq=False)
class Telling(Annals):
    """Every act by its name. An act that cannot happen does not, and returns False."""

    def tell(self) -> Told:
        for act in self.history.acts:
            what = getattr(self, "_" + act.what.replace(" ", "_").replace("-", "_"))
            try:
                happened = what(act)
            except GitbotError as error:
                happened = True
                if isinstance(error, Bug):
                    self.reviewer.broken.append(str(error))
                self.refused[type(error).__name__] += 1
                self.lines.append(f"{act.what}: {error}")
            if happened:
                self.acts[act.what] += 1
                self.lines.append(str(act))
            if act.pause:
                self.story.port.sleep(act.pause)
            if self.reviewer.broken:
                break
        self.acts[BESIDE] += self.reviewer.beside
        self.acts[CLASHED] += self.reviewer.clashed
        return Told(
            broken="; ".join(self.reviewer.broken),
            acts=self.acts,
            refused=self.refused,
            created=self.reviewer.fired.total(),
            lines=tuple(self.lines),
        )

    # Pull requests

    def _open(self, act: Act) -> bool:
        branch = self.branch(act)
        if self.open_pull(act) is not None:
            return False
        self.write(branch, "main", self.request(act))
        self.story.forge.account = "ann"
        self.story.forge.open_pull(
            branch=branch, base_branch="main", title=branch, body="", labels=()
        )
        self.story.forge.account = "gitbot"
        return True

    def _push(self, act: Act) -> bool:
        return self._on_branch(act, self.branch(act), self.request(act))

    def _push_something_else(self, act: Act) -> bool:
        note = {"README": f"{act.target} {self.story.port.now()}".encode()}
        return self._on_branch(act, self.branch(act), note)

    def _force_push(self, act: Act) -> bool:
        return self._on_branch(act, "main", self.request(act))

    def _on_branch(self, act: Act, start: str, files: Mapping[str, bytes | None]) -> bool:
        if self.repository.resolve(self.branch(act)) is None:
            return False
        self.write(self.branch(act), start, files)
        return True

    def _rebase(self, act: Act) -> bool:
        head = self.repository.resolve(self.branch(act))
        tree = self.repository.merge_trees("main", head) if head else None
        if tree is None:
            return False
        self.write(self.branch(act), "main", self.repository.read_tree(tree))
        return True

    def _show(self, act: Act) -> bool:
        pull = self.open_pull(act)
        if pull is None or pull.base_branch != "main":
            return False
        before = len(self.story.store.read().events)
        result = publish(self.story.shell, number=pull.number)
        written = self.story.store.read().events[before:]
        judged = result.check.judged
        for event in written:
            if isinstance(event, PlanShown):
                self.reviewer.shows(pull.number, event, judged.plan if judged else None)
        return True

    def _approve(self, act: Act) -> bool:
        pull, who = self.pull(act), PEOPLE[act.who]
        if pull is None or (pull.merged_at and pull.merged_at >= self.story.port.now()):
            return False
        self.story.forge.approve_pull(pull.number, reviewer=who)
        self.reviewer.approves(pull.number, who, head=pull.head, time=self.story.port.now())
        return True

    def _dismiss(self, act: Act) -> bool:
        pull, who = self.pull(act), PEOPLE[act.who]
        if pull is None or not any(item.reviewer == who for item in pull.reviews):
            return False
        self.story.forge.dismiss_reviews(pull.number, reviewer=who)
        self.reviewer.dismisses(pull.number, who)
        return True

    def _lose_rights(self, act: Act) -> bool:
        self.story.forge.readers.add(PEOPLE[act.who])
        return True

    def _get_rights(self, act: Act) -> bool:
        self.story.forge.readers.discard(PEOPLE[act.who])
        return True

    def _merge(self, act: Act) -> bool:
        pull = self.open_pull(act)
        if pull is None:
            return False
        method = list(MergeMethod)[act.target % len(MergeMethod)]
        self.story.forge.account = "carol"
        try:
            merged = self.story.forge.merge_pull(
                pull.number, method=method, expected_head=pull.head
            )
        finally:
            self.story.forge.account = "gitbot"
        if merged.base_branch == "main":
            self.reviewer.merges(
                merged.number,
                commit=merged.merge_commit,
                head=pull.head,
                time=merged.merged_at,
                author=merged.author,
            )
        return True

    def _merge_past_the_reviews(self, act: Act) -> bool:
        self.story.forge.enforced = False
        try:
            return self._merge(act)
        finally:
            self.story.forge.enforced = True

    def _retarget(self, act: Act) -> bool:
        pull = self.open_pull(act)
        if pull is None:
            return False
        other = "release" if pull.base_branch == "main" else "main"
        self.story.forge.retarget_pull(pull.number, base_branch=other)
        return True

    # Branches

    def _delete_branch(self, act: Act) -> bool:
        head = self.repository.branches.pop(self.branch(act), None)
        if head is not None:
            self.heads[self.branch(act)] = head
        return head is not None

    def _restore_branch(self, act: Act) -> bool:
        head = self.heads.pop(self.branch(act), None)
        if head is not None:
            self.repository.branches[self.branch(act)] = head
        return head is not None

    def _revert(self, act: Act) -> bool:
        del act
        parents = self.repository.commit("main").parents
        if not parents:
            return False
        gone = dict.fromkeys(self.repository.read_tree("main"))
        self.write("main", "main", {**gone, **self.repository.read_tree(parents[0])})
        return True

    def _cherry_pick(self, act: Act) -> bool:
        head = self.repository.resolve(self.branch(act))
        if head is None:
            return False
        tree = self.repository.read_tree(head)
        self.write("main", "main", {path: tree[path] for path in PATHS.values() if path in tree})
        return True

    def _edit_on_the_base(self, act: Act) -> bool:
        self.write("main", "main", self.request(act))
        return True

    def _break_a_file(self, act: Act) -> bool:
        self.write("main", "main", {OTHERS[act.request]: BROKEN})
        return True

    def _break_a_request(self, act: Act) -> bool:
        path = list(PATHS.values())[act.request]
        text = self.repository.read_blob("main", path)
        if text is None or BROKEN in text:
            return False
        self.write("main", "main", {path: text + BROKEN})
        return True

    def _mend_the_files(self, act: Act) -> bool:
        del act
        tree = self.repository.read_tree("main", "intents/")
        broken = {path: text for path, text in tree.items() if BROKEN in text}
        self.write("main", "main", {p: t.replace(BROKEN, b"") or None for p, t in broken.items()})
        return bool(broken)

    def _take_a_name(self, act: Act) -> bool:
        """One that another file may have already, or has since the commit before."""
        other = (NAMES[1 - act.request], PLATFORM, "", "")[act.target]
        for path in filter(None, (other, NAMES[act.request])):
            self.write("main", "main", {path: named(SPACES[path == NAMES[1]])})
        return True

    def _take_a_name_of_the_platform(self, act: Act) -> bool:
        self.write("main", "main", {PLATFORM: named(SPACES[act.request])})
        return True

    def _give_a_name_back(self, act: Act) -> bool:
        path = (*NAMES, PLATFORM)[act.target % 3]
        if self.repository.read_blob("main", path) is None:
            return False
        self.write("main", "main", {path: None})
        return True

    def _rewrite_the_base(self, act: Act) -> bool:
        del act
        head = self.repository.commit("main")
        if not head.parents:
            return False
        self.lost = self.lost or head.id
        self.repository.branches["main"] = head.parents[0]
        return True

    def _restore_the_base(self, act: Act) -> bool:
        del act
        if self.lost:
            self.repository.branches["main"], self.lost = self.lost, ""
            return True
        return False

    # The ledger

    def _roll_the_ledger_back(self, act: Act) -> bool:
        ledger = self.story.store.read()
        kept = len(ledger.events) - 1 - 2 * act.target
        if kept < 0:
            return False
        self._replace(Ledger(events=ledger.events[:kept], plans=ledger.plans, head=f"{kept:040x}"))
        return True

    def _rewrite_the_ledger(self, act: Act) -> bool:
        """An anchored line says something else, and the chain is made to fit."""
        ledger = self.story.store.read()
        anchor = self.story.port.ledger_anchors().get(self.story.shell.ledger_name) or "0"
        anchored = ledger.events[: int(anchor.partition(" ")[0])]
        plans = sorted(ledger.plans)
        other = plans[act.target % len(plans)] if plans else ""
        places = [
            index
            for index, event in enumerate(anchored)
            if isinstance(event, PlanShown) and event.digest not in ("", other)
        ]
        if not places:
            return False
        events: list[KnownEvent] = list(ledger.events)  # type: ignore[arg-type]
        place = places[-1]
        events[place] = msgspec.structs.replace(events[place], digest=other)
        self._replace(ledger.replace(events=chain(None, tuple(events)), head=f"{act.pause:040x}"))
        return True

    def _anchored(self) -> Ledger:
        """What of the ledger has an anchor; nothing while it is not the anchored one."""
        ledger = self.story.store.read()
        anchor = self.story.port.ledger_anchors().get(self.story.shell.ledger_name) or ""
        if not anchor or rollback_reason(ledger, anchor):
            return Ledger()
        return ledger.replace(events=ledger.events[: int(anchor.partition(" ")[0])])

    def _replace(self, other: Ledger) -> None:
        self.whole = self.whole if self.whole.events else self.story.store.read()
        self.reviewer.replaces(self._anchored(), other)
        self.story.store.ledger = other

    def _restore_the_ledger(self, act: Act) -> bool:
        del act
        if not self.whole.events:
            return False
        self._replace(self.whole)
        self.whole = Ledger()
        return True

    # The cluster and gitbot

    def _evacuate(self, act: Act) -> bool:
        vm, space = VMS[act.request], SPACES[act.request]
        evict_instance(self.story.cluster, vm, space)  # refused, and moved
        return True

    def _hold_and_resume(self, act: Act) -> bool:
        del act
        hold(self.story.shell, reason="stop", by="ann", cancel_running=False)
        resume(self.story.shell, reason="go", by="ann")
        return True

    def _apply(self, act: Act) -> bool:
        del act
        self.reviewer.may_review({who for who in PEOPLE if self.story.forge.can_write(who)})
        result = apply(self.story.shell, on_report=write_dashboard)
        self.refused.update(
            "its merge is gone"
            if "no longer part" in item.reason
            else item.reason.partition(":")[0]
            for item in result.approvals.refused
        )
        return True


def tell(history: History) -> Told:
    return Telling(history=history).tell()
