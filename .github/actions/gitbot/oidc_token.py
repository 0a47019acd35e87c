"""Prints the job's OpenID Connect token as an ExecCredential: for a kubeconfig without a secret.

The API server is asked again with a new token whenever it no longer takes the last, so the short
life of a token (minutes) is no limit to a pass. Needs the job's permission `id-token: write`.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

NEEDED = "the job needs the permission `id-token: write`"


def token(audience: str) -> str:
    """A new token for the audience."""
    address = os.environ["ACTIONS_ID_TOKEN_REQUEST_URL"]
    secret = os.environ["ACTIONS_ID_TOKEN_REQUEST_TOKEN"]
    joined = "&" if "?" in address else "?"
    request = urllib.request.Request(  # noqa: S310 - the address is the runner's
        f"{address}{joined}audience={urllib.parse.quote(audience, safe='')}",
        headers={"Authorization": f"Bearer {secret}", "Accept": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - the same
        return str(json.load(answer)["value"])


def main() -> int:
    """Print the credential; one line on stderr where there is none."""
    try:
        value = token(sys.argv[1])
    except KeyError as error:
        print(f"{error.args[0]} is not there: {NEEDED}", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"GitHub gives no token: {error}", file=sys.stderr)
        return 1
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": value},
    }
    print(json.dumps(credential))
    return 0


if __name__ == "__main__":
    sys.exit(main())
