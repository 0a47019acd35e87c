"""Documents of a cluster for tests of its pages."""

from typing import Any

from gitbot.published import (
    PublishedCalendar,
    PublishedListing,
    PublishedMap,
    PublishedMoves,
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
        rules=_listing("rules", [rule, item("PlacementRule", "kept", state="kept")]),
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


def item(kind: str, name: str, *, state: str, health: str = "") -> dict[str, object]:
    unknown = {"namespace": "", "since": 0, "opens": 0, "opening": "", "where": "", "file": ""}
    return {"kind": kind, "name": name, "state": state, "health": health, "labels": {}, **unknown}


def pull(title: str, *, url: str = "https://forge.example/acme/placement/pulls/7") -> Any:
    then = "review and merge it"
    return {"number": 7, "title": title, "branch": "b", "url": url, "next": then}


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
