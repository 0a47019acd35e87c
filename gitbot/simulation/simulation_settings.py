"""Dials: how long things take in the simulated cluster, and what fails.

All durations are integer seconds of virtual time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSettings:
    """Behaviour of a simulated cluster that in a real one depends on hardware and luck.

    `prefer` names the nodes that win first among equal scores, where a real scheduler throws dice.
    `bandwidth` is that of a memory copy, in bytes a second; `handler_step` is how long virt-handler
    takes for each of its writes during a migration. With `webhooks_down` virt-api does not answer:
    creates of VMIs and migrations, and evictions of launcher pods, get 500; deletes work.
    """

    pod_start: int = 1
    pod_stop: int = 1
    boot: int = 1
    handler_step: int = 1
    bandwidth: int = 1 << 30
    copy_minimum: int = 1
    prefer: tuple[str, ...] = ()
    not_ready_after: int = 40
    evict_after: int = 300
    live_migratable: bool = True
    webhooks_down: bool = False
