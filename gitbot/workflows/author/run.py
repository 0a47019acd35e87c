"""A new intent as a value, its check on top of the base branch, and its pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count
from typing import Any

from gitbot.calendar import duration, resolve
from gitbot.documents import read_documents, write_shown
from gitbot.errors import ConflictError, RepositoryError, UnreachableError
from gitbot.execution.request_records import fold_requests
from gitbot.intents import read_intents
from gitbot.kubernetes.objects import at, labels_of, name_of
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import DrainId, MigrationRequestId
from gitbot.model.text.instants import Interval
from gitbot.model.text.names import API_VERSION
from gitbot.model.text.wording import first_of
from gitbot.ports.forge import PullRequest, PullState
from gitbot.ports.idempotence import is_up_to_date
from gitbot.workflows.check import CheckResult, check_texts
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision import INTENTS, Texts, texts_at


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIntent:
    """An intent that a person asked for in words. `verb` names its branch: `move`, `drain`.

    `spec` has the names of a file. `namespace` is "" for kinds that act in the whole cluster.
    """

    kind: str
    name: str
    spec: Mapping[str, Any]
    verb: str
    title: str
    namespace: str = ""
    note: str = ""

    @property
    def branch(self) -> str:
        return f"{self.verb}/{'-'.join(filter(None, (self.namespace, self.name)))}"

    def path(self, cluster: str) -> str:
        """Requests and rules in the folder of their namespace, what acts everywhere above."""
        return "/".join(filter(None, (f"{INTENTS}{cluster}", self.namespace, f"{self.name}.yaml")))

    @property
    def text(self) -> str:
        metadata = {"name": self.name} | ({"namespace": self.namespace} if self.namespace else {})
        return write_shown(
            {
                "apiVersion": API_VERSION,
                "kind": self.kind,
                "metadata": metadata,
                "spec": dict(self.spec),
            }
        )


def with_free_name(shell: RunContext, new: NewIntent) -> NewIntent:
    """The intent under its name, or the first with a number behind it that nothing has or had.

    A request's name is used once: finished requests keep theirs. The branch of a pull request that
    was closed may still exist.
    """
    base = shell.repository.commit(shell.base_branch).id
    intents = shell.read_base(base).intents.intents
    taken = {item.ref.name for item in intents if item.ref.namespace == new.namespace}
    for request in fold_requests(shell.ledger_store.read(), shell.cluster_name):
        match request:
            case MigrationRequestId() if request.namespace == new.namespace:
                taken.add(request.name)
            case DrainId(occurrence=occurrence) if not new.namespace:
                taken.add(occurrence.window)
    numbered = (f"{new.name}-{number}" for number in count(2))
    named = (replace(new, name=name) for name in chain([new.name], numbered))
    free = (item for item in named if item.name not in taken)
    return next(item for item in free if not shell.forge.list_pulls(branch=item.branch))


def open_already(shell: RunContext, new: NewIntent) -> PullRequest | None:
    """The open pull request that asks for the same, whatever its name and note are."""
    found = (pull for pull, path, data in _open_files(shell, new) if _same(data, path, new))
    return next(found, None)


def open_beside(shell: RunContext, new: NewIntent) -> tuple[tuple[PullRequest, str], ...]:
    """Open pull requests that are about some of the same nodes or VMs, and about which.

    VMs that a file takes by their labels are not compared.
    """
    mine = _subjects(shell, new.spec)
    base = shell.read_base(shell.repository.commit(shell.base_branch).id).revision
    found = []
    for pull, path, data in _open_files(shell, new):
        for item in read_intents({path: data}, base.settings, shell.cluster_name)[0].intents:
            if (item.ref.kind, item.ref.namespace) == (new.kind, new.namespace):
                both = sorted(mine & _subjects(shell, item.spec.plain()))
                found += [(pull, first_of(both, 3))] if both else []
    return tuple(found)


def _subjects(shell: RunContext, spec: Mapping[str, Any]) -> frozenset[str]:
    """The names of the nodes and VMs that a file names, and of the nodes that it selects."""
    selector = at(spec, "nodes", "selector")
    labels = LabelMatcher.of(selector) if isinstance(selector, Mapping) else None
    nodes = shell.cluster.snapshot().of("Node") if labels is not None else ()
    chosen = {name_of(node).name for node in nodes if labels and labels.matches(labels_of(node))}
    names = (at(spec, part, "names", default=()) for part in ("nodes", "vms"))
    return frozenset(chosen).union(*names)


def _open_files(shell: RunContext, new: NewIntent) -> Iterator[tuple[PullRequest, str, bytes]]:
    """The files that open pull requests of the same command add."""
    for pull in shell.forge.list_pulls(state=PullState.OPEN):
        verb, _, rest = pull.branch.partition("/")
        name = rest.removeprefix(f"{new.namespace}-") if new.namespace else rest
        if verb != new.verb or pull.base_branch != shell.base_branch:
            continue
        path = replace(new, name=name).path(shell.cluster_name)
        try:
            shell.repository.fetch_commit(pull.head)
            data = shell.repository.read_blob(pull.head, path)
        except UnreachableError:
            raise  # nobody knows whether it asks for the same
        except RepositoryError:
            continue  # its head is gone: it cannot be merged either
        if data is not None:
            yield pull, path, data


def asked_already(shell: RunContext, new: NewIntent) -> str:
    """The file of the base branch that asks for the same; "" if there is none.

    A request or a window runs once, so a person who writes an equal one wants it once more.
    """
    if new.kind in ("MigrationRequest", "MaintenanceWindow"):
        return ""
    base = shell.repository.commit(shell.base_branch).id
    folder = f"{INTENTS}{shell.cluster_name}/"
    files = texts_at(shell.repository, base, commit=base).files
    found = (path for path in sorted(files) if path.startswith(folder))
    return next((path for path in found if _same(files[path], path, new)), "")


def _same(data: bytes, path: str, new: NewIntent) -> bool:
    documents, _ = read_documents(data, path)
    if len(documents) != 1:
        return False
    (there,) = documents
    found, space = at(there.value, "spec", default={}), at(there.value, "metadata", "namespace")
    if not isinstance(found, Mapping) or (space or "") != new.namespace:
        return False
    specs = [
        {key: value for key, value in spec.items() if key != "note"} for spec in (found, new.spec)
    ]
    if at(there.value, "kind") != new.kind:
        return False
    return is_up_to_date(*specs) or (new.kind == "FreezeWindow" and _is_frozen(*specs))


def _is_frozen(there: dict[str, Any], asked: dict[str, Any]) -> bool:
    """Whether a freeze ends when the asked one does, and begins no later, for the same VMs."""
    old, new = (_once(spec.pop("schedule", None)) for spec in (there, asked))
    if old is None or new is None or not is_up_to_date(there, asked):
        return False
    return old.start <= new.start and old.end == new.end


def _once(schedule: object) -> Interval | None:
    """The time of a schedule with nothing but start, zone and duration."""
    if not isinstance(schedule, Mapping) or set(schedule) != {"start", "timeZone", "duration"}:
        return None
    try:
        begins = datetime.fromisoformat(str(schedule["start"]))
        start, _ = resolve(begins, str(schedule["timeZone"]))
        return Interval(start=start, end=start + duration(str(schedule["duration"])))
    except (KeyError, ValueError):  # the check names what is wrong with it
        return None


def check_new(shell: RunContext, new: NewIntent) -> CheckResult:
    """What the check of a pull request with this intent would say now."""
    base = shell.repository.commit(shell.base_branch).id
    ledger: Ledger = shell.ledger_store.read()
    before = texts_at(shell.repository, base, commit=base)
    path = new.path(shell.cluster_name)
    if path in before.files:
        raise ConflictError(f"{path} exists already", hint="choose another name with --name")
    after = Texts(files={**before.files, path: new.text.encode()})
    return check_texts(shell, ledger, before=before, after=after)


def open_new(shell: RunContext, new: NewIntent) -> PullRequest:
    """Commit the file on its branch and open the pull request. Raises ConflictError."""
    hint = "choose another name with --name"
    if any(pull.branch == new.branch for pull in shell.forge.list_pulls(state=PullState.OPEN)):
        raise ConflictError(f"branch {new.branch} exists already", hint=hint)
    return open_change(
        shell,
        base=shell.repository.commit(shell.base_branch).id,
        branch=new.branch,
        files={new.path(shell.cluster_name): new.text.encode()},
        title=new.title,
        body=new.note,
        hint=hint,
    )


def open_change(
    shell: RunContext,
    *,
    base: str,
    branch: str,
    files: Mapping[str, bytes],
    title: str,
    body: str,
    hint: str,
) -> PullRequest:
    """Commit files on a new branch and open its pull request.

    Raises ConflictError, with the hint, if the branch exists.
    """
    try:
        shell.repository.write_commit(
            branch=branch,
            expected=None,
            files=files,
            message=f"{title}\n\n{body}".strip() + "\n",
            time=shell.clock.now(),
            parents=(base,),
        )
    except ConflictError as error:
        raise ConflictError(f"branch {branch} exists already", hint=hint) from error
    return shell.forge.open_pull(
        branch=branch, base_branch=shell.base_branch, title=title, body=body, labels=()
    )
