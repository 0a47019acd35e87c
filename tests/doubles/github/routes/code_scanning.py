"""Findings for code scanning: kept by ref and commit, as many as were uploaded."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib

from tests.doubles.github.calls import Call, route
from tests.doubles.github.problems import Problem
from tests.doubles.github.routes.statuses import commit_of
from tests.doubles.github.state import JSON


def _upload(call: Call) -> JSON:
    body = call.body
    repository, sha = commit_of(call, str(body.get("commit_sha") or ""))
    try:
        packed = base64.b64decode(str(body.get("sarif") or ""), validate=True)
        document = json.loads(gzip.decompress(packed))
        categories = [run["automationDetails"]["id"] for run in document["runs"]]
    except (binascii.Error, OSError, EOFError, zlib.error, ValueError, KeyError) as error:
        raise Problem(400, f"Invalid SARIF: {error}") from error
    made = call.github.new_id()
    repository.sarifs.append(
        {"id": made, "ref": body.get("ref"), "commit": sha, "categories": categories}
    )
    url = f"{call.links.repo(repository.full_name)}/code-scanning/sarifs/{made}"
    return {"id": str(made), "url": url}


ROUTES = (route("POST", "~/code-scanning/sarifs", _upload, "security_events:write", success=202),)
