"""A whole cluster that is listed once and then watched.

A stream follows each kind, so the view may show kinds at different moments. The stream does not
prove how old a kind is. Every few seconds, the view asks the server for its current version in a
consistent read. Once the stream of a kind has reached that version, the view knows the kind as it
was at that read. If that is more than FRESH seconds ago, the view lists the kind again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from gitbot.adapters.clock import seconds_counted
from gitbot.adapters.kubernetes.kind_stream import FollowedKind, KindStream, Marker, VersionMark
from gitbot.adapters.kubernetes.named_revisions import NamedRevisions
from gitbot.adapters.kubernetes.snapshot_reader import (
    RESTARTS,
    ListExpired,
    ListsRead,
    chosen_versions,
    kubernetes_version,
    list_pages,
    list_revisions,
    read_all,
    read_cluster,
)
from gitbot.adapters.kubernetes.transport import HttpAnswer, Transport
from gitbot.errors import ClusterError, ClusterForbidden, SnapshotError
from gitbot.kubernetes.objects import KubernetesObject, name_of, uid_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.snapshot import RESOURCES, FollowedRows, KindReader, Rows, from_sorted

FRESH = 300  # seconds; what acts asks for newer kinds
MARK_EVERY = 15  # seconds; bookmarks come about once a minute
_MARKS = 40
UID_KNOWN = 5  # seconds after a mark in which the cluster need not be asked which one it is
DISCOVER_EVERY = 60  # seconds; a new minor of Kubernetes or a new kind is known then
PATIENCE = 2  # seconds until a kind that a step needs is listed instead
_JOIN = 5  # seconds that a stream has to end
_SMALL = RESOURCES["Namespace"]  # any kind would do: the store has one version
SYSTEM = "kube-system"  # its UID identifies a cluster
SYSTEM_ALONE = {"fieldSelector": f"metadata.name={SYSTEM}"}


class ClusterView:
    """`reading` is for lists, `streaming` for watches: a request's gate belongs to one thread.

    `say` is told once if the account may not watch; the view then lists at every look. Unless
    `at_once`, it begins to watch with the second look: who looks once watches nothing.
    """

    def __init__(
        self,
        name: str,
        reading: Transport,
        streaming: Transport,
        *,
        say: Callable[[str], None],
        clock: Callable[[], float] = seconds_counted,
        mark_every: float = MARK_EVERY,
        at_once: bool = True,
    ) -> None:
        self._name = name
        self._reading, self._streaming = reading, streaming
        self._say, self._clock, self._mark_every = say, clock, mark_every
        self._changed = threading.Condition(threading.RLock())
        self._kinds: dict[str, FollowedKind] = {}
        self._streams: list[KindStream] = []
        self._marker: tuple[Marker, threading.Event] | None = None
        self._marks: deque[VersionMark] = deque(maxlen=_MARKS)
        self._uid = ""
        self._chosen: Mapping[str, str] = {}
        self._served: tuple[float, str, Mapping[str, str]] | None = None
        self._denied: tuple[str, ...] = ()
        self._went_back = False
        self._is_refused = False
        self._is_watching = at_once
        self._last: ClusterSnapshot | None = None
        self._named = NamedRevisions(partial(list_revisions, reading), clock)

    def close(self) -> None:
        """End every stream; a later look lists the cluster again."""
        streams = [*self._streams]
        for stream in streams:
            stream.stop()
        ending: list[threading.Thread] = [*streams]
        if self._marker is not None:
            marker, stopping = self._marker
            stopping.set()
            ending.append(marker)
        last = time.monotonic() + _JOIN
        for thread in ending:
            thread.join(max(0.0, last - time.monotonic()))
        self._streams, self._marker = [], None
        self._kinds, self._last = {}, None
        self._streaming.close()

    def look(self) -> ClusterSnapshot:
        """The state now, or of each kind at most FRESH seconds ago. Raises as a list does."""
        if self._is_refused or self._finds_refusal():
            return read_cluster(self._reading, self._name)
        version, chosen = self._discovered()
        self._watch()
        if self._kinds and chosen == self._chosen:
            self._mark(self._reading.read)
            with self._changed:
                self._changed.wait_for(
                    lambda: not any(map(self._is_awaited, self._kinds.values())), PATIENCE
                )
        if not self._kinds or chosen != self._chosen or self._went_back or self._may_read_more():
            self._list_all(chosen)
        for kind in self._late():
            self._list_again(kind)
        return self._snapshot(version)

    def _discovered(self) -> tuple[str, Mapping[str, str]]:
        """The server's version, and the version of each kind that it serves."""
        now = self._clock()
        if self._served is None or not 0 <= now - self._served[0] < DISCOVER_EVERY:
            version, chosen = kubernetes_version(self._reading), chosen_versions(self._reading)
            self._served = (now, version, chosen)
        return self._served[1:]

    def rows(self, kind: str) -> Rows | None:
        """The objects of a kind as far as they are known; None if it is not followed."""
        self._watch()
        with self._changed:
            found = self._kinds.get(kind)
            return None if found is None or found.is_lost else found.rows.rows()

    def uid(self) -> str:
        """The cluster's, if it said so within UID_KNOWN seconds; else ""."""
        with self._changed:
            is_new = self._marks and 0 <= self._clock() - self._marks[-1].began < UID_KNOWN
            return self._uid if is_new else ""

    def distrust(self, kind: str) -> None:
        """The next look shows this kind as it is now or later, by a list if its stream is late."""
        with self._changed:
            if kind in self._kinds:
                self._kinds[kind].needed = self._clock()

    def require(self, seconds: int) -> None:
        """The next look shows every kind as it was at most so many seconds ago."""
        with self._changed:
            for kind in self._kinds.values():
                kind.needed = max(kind.needed, self._clock() - seconds)

    # Listing

    def _list_all(self, chosen: Mapping[str, str]) -> None:
        self._stop_streams(self._streams)
        began = self._clock()
        reading = read_all(
            self._reading, self._name, chosen, FollowedRows, lambda rows: rows.listed()
        )
        versions = {kind: _version(said) for kind, said in reading.versions.items()}
        mark = VersionMark(began=began, date=reading.taken_at, version=min(versions.values()))
        with self._changed:
            self._marks.clear()
            self._marks.append(mark)
            self._uid = ""
            self._went_back = False
            self._kinds = {
                kind: FollowedKind(
                    resource=RESOURCES[kind],
                    served=chosen[kind],
                    rows=rows,
                    version=versions[kind],
                    listed=mark,
                )
                for kind, rows in reading.kinds.items()
            }
            self._chosen, self._denied = chosen, tuple(reading.denied)
        if self._is_watching:
            self._begin_all()

    def _watch(self) -> None:
        """Watch from now on what was listed, from the version of that list."""
        if self._kinds and not self._is_watching:
            self._is_watching = True
            self._begin_all()

    def _begin_all(self) -> None:
        for kind in [*self._kinds.values()]:
            self._begin(kind)
        if self._marker is None:
            stopping = threading.Event()
            marker = Marker(self._mark_apart, stopping, self._mark_every, self._until_mark)
            self._marker = (marker, stopping)
            self._marker[0].start()

    def _list_again(self, old: FollowedKind) -> None:
        name = old.resource.kind
        self._stop_streams([each for each in self._streams if each.kind is old])
        for _ in range(RESTARTS):
            rows, reading, began = FollowedRows(name), ListsRead[FollowedRows](), self._clock()
            try:
                said = list_pages(self._reading, old.resource, old.served, reading, rows.add)
            except ListExpired:
                continue
            except ClusterForbidden:  # it lost its right: the whole list says what that means
                self._list_all(self._chosen)
                return
            new = FollowedKind(
                resource=old.resource,
                served=old.served,
                rows=rows.listed(),
                version=_version(said),
                listed=VersionMark(began=began, date=reading.taken_at, version=_version(said)),
            )
            with self._changed:
                self._kinds[name] = new
            self._begin(new)
            return
        raise SnapshotError(f"the list of {name} expired {RESTARTS} times while it was read")

    def _begin(self, kind: FollowedKind) -> None:
        stream = KindStream(self._streaming, kind, self._changed)
        self._streams.append(stream)
        stream.start()

    def _stop_streams(self, streams: Iterable[KindStream]) -> None:
        for stream in [*streams]:
            stream.stop()
        self._streams = [each for each in self._streams if each.is_alive()]

    # How old it is

    def _late(self) -> list[FollowedKind]:
        with self._changed:
            return [
                kind
                for kind in self._kinds.values()
                if kind.is_lost
                or kind.rows.is_crowded
                or self._clock() - self._as_of(kind).began > FRESH
                or self._is_awaited(kind)
            ]

    def _is_awaited(self, kind: FollowedKind) -> bool:
        return self._as_of(kind).began < kind.needed

    def _as_of(self, kind: FollowedKind) -> VersionMark:
        """The newest moment of which the kind is known."""
        reached = [mark for mark in self._marks if mark.version <= kind.version]
        return max([*reached, kind.listed], key=lambda mark: mark.began)

    def _mark_apart(self) -> None:
        self._mark(self._streaming.ask)

    def _until_mark(self) -> float:
        """Seconds until the next mark is due; looks make marks, too."""
        with self._changed:
            last = self._marks[-1].began if self._marks else self._clock()
        return last + self._mark_every - self._clock()

    def _mark(self, read: Callable[[str, Mapping[str, str]], HttpAnswer]) -> None:
        """Ask for the server's version, which never goes back except by a restored store."""
        with self._changed:
            reached = (kind.version for kind in self._kinds.values())
            known = max([*reached, *(mark.version for mark in self._marks)], default=0)
        began = self._clock()
        answer = read(_SMALL.path(), SYSTEM_ALONE)
        if answer.status != 200:
            raise ClusterError(f"the server does not say its version: answer {answer.status}")
        found = KindReader(_SMALL.kind)
        said = found.add(answer.body).resource_version
        mark = VersionMark(began=began, date=answer.date, version=_version(said))
        with self._changed:
            self._uid = system_uid(found.rows())
            if mark.version < known:
                self._went_back = True
            else:
                self._marks.append(mark)

    def _finds_refusal(self) -> bool:
        with self._changed:
            refusals = sorted(kind.refusal for kind in self._kinds.values() if kind.refusal)
        if refusals:
            self._is_refused = True
            self.close()
            self._say(
                f"the account may not {refusals[0]}: every look lists the whole cluster "
                "(grant the verb watch, as deploy/rbac/20-reader.yaml does)"
            )
        return bool(refusals)

    def _may_read_more(self) -> bool:
        """Whether a kind that was denied may be listed now."""
        for kind in self._denied:
            path = RESOURCES[kind].path(self._chosen[kind])
            if self._reading.read(path, {"limit": "1"}).status == 200:
                return True
        return False

    # The result

    def _snapshot(self, kubernetes: str) -> ClusterSnapshot:
        with self._changed:
            rows = {kind: each.rows.rows() for kind, each in self._kinds.items()}
            version = min(each.version for each in self._kinds.values())
            oldest = min(map(self._as_of, self._kinds.values()), key=lambda mark: mark.began)
        whole = self._named.complete(rows)
        kept = {kind: each for kind, each in whole.items() if each}
        last = self._last
        is_same = last is not None and (
            kept.keys() == last.objects.keys()
            and all(each is last.objects[kind] for kind, each in kept.items())
        )
        found = from_sorted(
            self._name,
            whole,
            oldest.date,
            kubernetes_version=kubernetes,
            resource_version=str(version),
            absent_kinds=[kind for kind, served in self._chosen.items() if not served],
            denied_kinds=self._denied,
            digest=(lambda: last.digest) if last is not None and is_same else None,
        )
        if not is_same:
            self._last = found
        return found


def system_uid(namespaces: Iterable[KubernetesObject]) -> str:
    """The UID of kube-system, or ""."""
    return next((uid_of(item) for item in namespaces if name_of(item).name == SYSTEM), "")


def _version(said: str) -> int:
    """Of a list. Raises SnapshotError if it is none: events could not be put in order."""
    if not said.isdecimal():
        raise SnapshotError(f"a list has the resourceVersion {said!r}, expected a number")
    return int(said)
