"""Claims of this pass that are not sent yet. Each allows one request, for a short time.

Two clocks limit a claim: the wall clock may step back, and a monotonic one may stop while the
machine sleeps. The claim ends when either passes the limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gitbot.execution.claims import FENCE, TOO_LATE, release_claim
from gitbot.execution.executor_types import CreateMigration, Effect
from gitbot.execution.request_records import fold_requests
from gitbot.model.ledger.events import Claim, MoveChanged, MoveState
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.core.context import RunContext

MOST_UNANSWERED = 3  # requests for one migration in one pass


@dataclass(slots=True, kw_only=True)
class HeldClaim:
    """One claim. `sent`: a request may have left, or the server answered with the migration."""

    event: MoveChanged
    shell: RunContext
    began: float  # by the timer, before the claim was written
    sent: bool = False

    @property
    def claim(self) -> Claim:
        assert self.event.claim is not None
        return self.event.claim

    def late(self) -> bool:
        counted = self.shell.timer() - self.began
        return self.shell.clock.now() >= self.claim.until or counted >= FENCE.send

    def gate(self) -> str:
        """Called right before the request leaves. "" lets it go, and counts it as sent."""
        self.sent = not self.late()
        return "" if self.sent else TOO_LATE

    def refused(self) -> None:
        """The server refused the request, or it did not leave: no request is on its way."""
        self.sent = False


@dataclass(slots=True, kw_only=True)
class HeldClaims:
    """The claims of one pass, by migration name and epoch."""

    known: dict[tuple[str, int], HeldClaim] = field(default_factory=dict)

    @property
    def unsent(self) -> frozenset[tuple[str, int]]:
        return frozenset(key for key, ticket in self.known.items() if not ticket.sent)

    @property
    def unanswered(self) -> frozenset[str]:
        """Migrations for which this pass sends no more requests: the server answered none."""
        sent = Counter(name for (name, _), ticket in self.known.items() if ticket.sent)
        return frozenset(name for name, times in sent.items() if times >= MOST_UNANSWERED)

    def hold(self, shell: RunContext, effects: Iterable[Effect], *, began: float) -> None:
        """Take the claims of effects that the ledger has accepted."""
        for effect in effects:
            if isinstance(effect, CreateMigration) and effect.event.claim is not None:
                ticket = HeldClaim(event=effect.event, shell=shell, began=began)
                self.known[effect.event.migration, ticket.claim.epoch] = ticket

    def of(self, effect: CreateMigration) -> HeldClaim:
        epoch = effect.event.claim.epoch if effect.event.claim is not None else 0
        return self.known[effect.event.migration, epoch]

    def given_back(self, ledger: Ledger, cluster: str, *, now: int) -> tuple[MoveChanged, ...]:
        """Lines that return claims of which nothing was sent, if no newer claim follows them."""
        records = fold_requests(ledger, cluster)
        lines = []
        for key, ticket in sorted(self.known.items()):
            event = ticket.event
            record = records[event.request].moves.get(event.move)
            if record is None or record.state is not MoveState.INTENDED or ticket.sent:
                continue
            if (record.migration, record.claim and record.claim.epoch) == key:
                lines.append(release_claim(event, now=now))
        return tuple(lines)
