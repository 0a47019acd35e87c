"""The published document of a status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.ports.forge import PullRequest
from gitbot.published import PublishedStatus, published
from gitbot.workflows.ask.maintenance import NodeStatus
from gitbot.workflows.ask.next_openings import NextOpening
from gitbot.workflows.ask.status import RequestStatus, StatusResult
from gitbot.workflows.core.broken_files import BrokenFile
from gitbot.workflows.propose import Away


def status_document(result: StatusResult) -> PublishedStatus:
    fields = {
        "cluster": result.cluster,
        "time": result.now,
        "notRead": result.not_read,
        "commit": result.commit,
        "broken": result.broken,
        "brokenFiles": [_broken_file(item) for item in result.broken_files],
        "mode": result.mode,
        "stop": result.stop,
        "stops": [
            {
                "reason": item.reason,
                "by": item.by,
                "since": item.since,
                "next": item.next_command,
            }
            for item in result.stops
        ],
        "requests": [_request(item) for item in result.requests],
        "maintenance": [
            _maintenance(occurrence, nodes) for occurrence, nodes in result.nodes.items()
        ],
        "away": [_away(item) for item in result.away],
        "openings": [_opening(item) for item in result.openings],
        "atRisk": result.at_risk,
        "pullRequests": [_pull(result, pull) for pull in result.pulls],
        "intentPullRequests": [_pull(result, pull) for pull in result.people],
        "refused": result.refused,
        "owners": result.owners,
        "policyExceptions": result.exceptions,
        "movers": result.movers,
        "lost": result.lost,
        "notApplied": result.not_applied,
        "notPlanned": result.not_planned,
    }
    return published(fields, PublishedStatus)


def _broken_file(item: BrokenFile) -> Mapping[str, Any]:
    return {
        "file": item.path,
        "line": item.errors[0].line,
        "message": item.errors[0].message,
        "author": item.author,
        "commit": item.commit,
        "holds": item.held_at,
        "effect": item.effect,
    }


def _maintenance(occurrence: OccurrenceId, nodes: tuple[NodeStatus, ...]) -> Mapping[str, Any]:
    lines = [
        {
            "node": node.record.node,
            "state": node.record.state,
            "since": node.record.since,
            "cordon": node.cordon,
            "unplanned": [str(vm) for vm in node.unplanned],
            "next": node.next_command,
        }
        for node in nodes
    ]
    return {
        "request": occurrence.drain,
        "window": occurrence.window,
        "occurrence": occurrence.id,
        "nodes": lines,
    }


def _pull(result: StatusResult, pull: PullRequest) -> Mapping[str, Any]:
    return {
        "number": pull.number,
        "title": pull.title,
        "branch": pull.branch,
        "url": pull.url,
        "next": result.next_of_pulls.get(pull.number, ""),
    }


def _away(item: Away) -> Mapping[str, Any]:
    return {
        "vm": str(item.vm),
        "home": item.home,
        "node": item.node,
        "occurrence": str(item.occurrence),
        "reason": item.reason,
        "next": item.next_command,
    }


def _opening(item: NextOpening) -> Mapping[str, Any]:
    ref = item.intent.ref
    return {
        "kind": ref.kind,
        "name": ref.name,
        "where": ref.where,
        "starts": item.open.start,
        "ends": item.open.end,
        "local": item.words,
        "request": item.request or "",
        "state": item.state,
        "begins": item.begins,
        "next": item.next_command,
    }


def _request(item: RequestStatus) -> Mapping[str, Any]:
    moves = [
        {
            "id": move.record.number,
            "vm": str(move.record.vm),
            "from": move.record.source,
            "to": move.record.to,
            "state": move.record.state,
            "landed": move.record.landed,
            "reason": move.record.reason,
            "waits": move.waits,
            "until": move.until,
        }
        for move in item.moves
    ]
    record = item.record
    return {
        "id": str(record.id),
        "state": record.state,
        "section": item.section,
        "next": item.next_command,
        "moves": moves,
    }
