"""gitbot's answers to "where will the scheduler put this pod", compared with where it was put."""

import contextlib
import io
import json
from collections.abc import Sequence
from pathlib import Path

from gitbot.cli.main import main
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.simulation.store import key_of
from tests.controlplane.journal import Binding


def explained(binding: Binding, extra: Sequence[KubernetesObject], folder: Path) -> list[str]:
    """The nodes that `gitbot explain` ranks first for a pod, from the state before its binding.

    Empty where it would fit nowhere. `extra` are objects beyond pods, nodes and VMIs.
    """
    namespace, name = key_of(binding.pod)
    file = folder / "before.json"
    items = [*extra, *binding.before.values()]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    file.write_text(json.dumps(listed), encoding="utf-8")
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        main(["explain", f"pod/{name}", "-n", namespace, "--snapshot", str(file), "-o", "json"])
    (subject,) = json.loads(output.getvalue())["subjects"]
    scores = {
        node["name"]: node["total"]
        for node in subject["nodes"]
        if node["name"] in subject["feasible"]
    }
    best = max(scores.values(), default=0)
    return sorted(name for name, total in scores.items() if total == best)


def surprises(
    bindings: Sequence[Binding], extra: Sequence[KubernetesObject], folder: Path
) -> list[str]:
    """The pods that went elsewhere than predicted, one line each."""
    found = []
    for binding in bindings:
        predicted = explained(binding, extra, folder)
        if binding.node not in predicted:
            pod = "/".join(key_of(binding.pod))
            found.append(f"{pod}: on {binding.node}, predicted {' or '.join(predicted) or '-'}")
    return found
