"""How many migrations may run at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many migrations may run at once, over all movers; counts.

    The effective values: the smaller of the configuration and the KubeVirt CR
    (parallelMigrationsPerCluster 5, parallelOutboundMigrationsPerNode 2 by default).
    `reserve` slots of the cluster limit are left free for others.
    """

    parallel: int = 5
    per_source_node: int = 2
    per_target_node: int = 2
    per_zone: int = 4
    reserve: int = 1

    @property
    def slots(self) -> int:
        """Migrations that gitbot may have running at once; at least one."""
        return max(1, self.parallel - self.reserve)

    @property
    def at_once(self) -> str:
        """`at most 4 at once (1 of 5 is kept free for others)`."""
        kept = self.parallel - self.slots
        reserve = (
            f" ({kept} of {self.parallel} {'is' if kept == 1 else 'are'} kept free for others)"
        )
        return f"at most {self.slots} at once{reserve if kept > 0 else ''}"
