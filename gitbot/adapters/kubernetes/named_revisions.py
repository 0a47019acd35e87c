"""Revisions of instance types that VMs name and that lack the label by which they are listed.

KubeVirt reads the revision that a VM names whatever its labels, and set none until 1.1
(pkg/instancetype/find/revision.go). gitbot asks for these by name, or lists the whole kind if they
are many. The data of a revision never changes, so one that was read is not asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from gitbot.adapters.clock import seconds_counted
from gitbot.errors import SnapshotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.kubevirt.instance_types import named_revisions
from gitbot.snapshot import Rows, prune

REVISION = "ControllerRevision"
MOST = 20  # requests by name
AGAIN = 300  # seconds until gitbot asks again for one that was absent


class NamedRevisions:
    """Completes the lists of one cluster; `list_` takes the query and the namespace of a list."""

    def __init__(
        self,
        list_: Callable[[Mapping[str, str], str], Iterable[KubernetesObject]],
        clock: Callable[[], float] = seconds_counted,
    ) -> None:
        self._list, self._clock = list_, clock
        self._found: dict[NamespacedName, KubernetesObject] = {}
        self._absent, self._asked = frozenset[NamespacedName](), 0.0
        self._seen: tuple[object, object] = (None, None)
        self._whole: Sequence[KubernetesObject] = ()

    def complete(self, kinds: Mapping[str, Rows]) -> Mapping[str, Sequence[KubernetesObject]]:
        """The lists with these revisions; the same objects if neither VMs nor revisions changed."""
        machines, listed = kinds.get("VirtualMachine"), kinds.get(REVISION)
        if machines is None or listed is None:  # the account may not list them
            return kinds
        is_due = bool(self._absent) and self._clock() - self._asked >= AGAIN
        if is_due or machines is not self._seen[0] or listed is not self._seen[1]:
            wanted = {name for vm in machines.passing() for name in named_revisions(vm)}
            lacking = wanted - set(map(name_of, listed.passing())) if wanted else wanted
            before = self._found
            self._look_for(lacking, is_due=is_due)
            if listed is not self._seen[1] or before.keys() != self._found.keys():
                added = [*listed, *self._found.values()]
                self._whole = tuple(sorted(added, key=name_of)) if self._found else listed
            self._seen = (machines, listed)
        return {**kinds, REVISION: self._whole}

    def _look_for(self, lacking: Collection[NamespacedName], *, is_due: bool) -> None:
        self._found = {name: obj for name, obj in self._found.items() if name in lacking}
        absent = frozenset(lacking) - self._found.keys()
        if asked := absent if is_due else absent - self._absent:
            read = {name_of(obj): obj for obj in self._read(sorted(asked))}
            self._found |= {name: obj for name, obj in read.items() if name in asked}
            self._asked = self._clock()
        self._absent = absent - self._found.keys()

    def _read(self, names: Sequence[NamespacedName]) -> Iterable[KubernetesObject]:
        if len(names) > MOST:
            return filter(None, map(_kept, self._list({}, "")))
        queries = (({"fieldSelector": f"metadata.name={each.name}"}, each) for each in names)
        found = (item for query, each in queries for item in self._list(query, each.namespace))
        return filter(None, map(_kept, found))


def _kept(item: KubernetesObject) -> KubernetesObject | None:
    try:
        return prune(REVISION, item)
    except SnapshotError:  # a shape that KubeVirt did not write
        return None
