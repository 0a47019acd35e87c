"""Documents of a cluster for tests of its pages."""

from typing import Any

from gitbot.published import (
    PublishedAudit,
    PublishedBoard,
    PublishedCalendar,
    PublishedListing,
    PublishedMap,
    PublishedMoves,
    PublishedPlans,
    PublishedStatus,
    published,
)
from gitbot.reports.site import SiteDocuments

NOW = 1_796_000_000
_GIB = 1 << 30
_LISTS = (
    "broken brokenFiles stops requests maintenance away openings pullRequests intentPullRequests "
    "refused owners policyExceptions movers lost notApplied notPlanned"
)


def documents(
    *, nodes: int = 6, vms: int = 2, name: str = "node", healthy: bool = True, **status: Any
) -> SiteDocuments:
    """A cluster of three zones where nothing is to do, but for what `status` says."""
    made = {"cluster": "iberia", "time": NOW}
    quiet = {"notRead": "", "commit": "0" * 40, "mode": "Enforce", "stop": ""}
    lists: dict[str, list[object]] = {key: [] for key in _LISTS.split()}
    rule = item("PlacementRule", "apart", state="broken", health=f"{name} and {name} share a zone")
    return SiteDocuments(
        zone="Europe/Madrid",
        healthy=healthy,
        clusters=_listing("clusters", [item("Cluster", "iberia", state="idle")]),
        status=published({**made, **quiet, **lists, **status}, PublishedStatus),
        places=published({**made, "notRead": "", "nodes": places(nodes, vms, name)}, PublishedMap),
        board=published({**made, "notRead": "", "windows": windows(name)}, PublishedBoard),
        plans=published({**made, "notRead": "", "plans": [plan(name)]}, PublishedPlans),
        rules=_listing("rules", [rule, item("PlacementRule", "kept", state="kept")]),
        audit=published(_audit(name), PublishedAudit),
        calendar=published(
            {**made, "from": NOW, "until": NOW + 1, "events": [_event(name)]}, PublishedCalendar
        ),
        moves=published({**made, "from": 0, "items": [_past(name)]}, PublishedMoves),
    )


def places(nodes: int, vms: int, name: str) -> list[dict[str, object]]:
    return [
        {
            "node": f"{name}-{index:04}",
            "zone": f"zone-{index * 3 // nodes}",
            "state": "Ready,SchedulingDisabled" if index == 1 else "Ready",
            "maintenance": "",
            "vms": [f"team-{index % 7}/{name}-{index:04}-{vm}" for vm in range(vms)],
            "allocatable": 64 * _GIB,
            "requested": index % 11 * 6 * _GIB,
        }
        for index in range(nodes)
    ]


def plan(name: str, *, moves: int = 3, title: str = "Empty a rack") -> dict[str, object]:
    """A plan that moves VMs from the first node to the others, a wave each."""
    return {
        "title": title, "pullRequest": 7, "url": "", "digest": f"sha256:{'0' * 64}",
        "nodes": [{"node": f"{name}-{n}", "zone": "zone-0", "stay": n} for n in range(3)],
        "moves": [
            {
                "vm": f"team/{name}-{n}", "from": f"{name}-0", "to": f"{name}-{1 + n % 2}",
                "wave": n + 1, "seconds": 60, "why": name,
            }
            for n in range(moves)
        ],
    }  # fmt: skip


def windows(name: str) -> list[dict[str, object]]:
    quiet = {"empty": 0, "back": 0, "cordon": "", "planned": 3, "moved": 1}
    stays = [{"vm": f"team/{name}", "why": f"{name} has no room"}]
    nodes = [
        {
            **quiet,
            "node": f"{name}-0000",
            "state": "draining",
            "began": NOW,
            "stays": stays,
            "next": "gitbot plan",
        },
        {**quiet, "node": f"{name}-0001", "state": "waiting", "began": 0, "stays": [], "next": ""},
    ]
    ids = {"window": name, "occurrence": "o1", "request": "drain/rack/o1"}
    times = {"starts": NOW, "ends": NOW + 7_200, "words": "from 22:00 until 02:00"}
    return [{**ids, **times, "nodes": nodes}]


def item(kind: str, name: str, *, state: str, health: str = "") -> dict[str, object]:
    unknown = {"namespace": "", "since": 0, "opens": 0, "opening": "", "where": "", "file": ""}
    return {"kind": kind, "name": name, "state": state, "health": health, "labels": {}, **unknown}


def pull(title: str, *, url: str = "https://forge.example/acme/placement/pulls/7") -> Any:
    then = "review and merge it"
    return {"number": 7, "title": title, "branch": "b", "url": url, "next": then}


def _audit(name: str) -> dict[str, object]:
    counts = {"errors": 1, "warnings": 2, "notes": 0, "unasked": ["manifests in Git"]}
    made = {"cluster": "iberia", "time": NOW, "takenAt": NOW, "snapshot": f"sha256:{'0' * 64}"}
    items = [
        finding("audit/rule-broken", name, "error", since=NOW - 3_600, observed=True),
        finding("audit/not-migratable", name, "warning", since=NOW - 60),
        finding("audit/not-migratable", f"{name}2", "warning"),
    ]
    return {**made, **counts, "items": items}


def finding(
    code: str, name: str, severity: str, *, since: int = 0, observed: bool = False
) -> dict[str, object]:
    return {
        "code": code, "severity": severity, "vms": [], "node": "", "rule": "",
        "hint": "gitbot plan",
        "subject": {"kind": "VM", "namespace": "team", "name": name}, "message": f"{code} says why",
        "file": "rack.yaml", "line": 1, "since": since, "observed": observed,
    }  # fmt: skip


def _listing(of: str, items: list[dict[str, object]]) -> PublishedListing:
    made = {"cluster": "iberia", "time": NOW, "of": of, "notRead": "", "broken": []}
    return published({**made, "items": items}, PublishedListing)


def _event(name: str) -> dict[str, object]:
    times = {"start": NOW + 3_600, "end": NOW + 7_200, "announced": 0}
    words = {"id": "", "timeZone": "UTC", "words": "soon", "cancelled": "", "frozen": ""}
    return {"kind": "window", "name": name, "file": "rack.yaml:1", **times, **words}


def _past(name: str) -> dict[str, object]:
    return {
        "time": NOW - 60, "vm": f"team/{name}", "from": "a", "to": "b", "seconds": 20,
        "state": "failed", "reason": name, "by": "ana", "pullRequest": 3, "why": name,
        "request": "request/team/one",
    }  # fmt: skip
