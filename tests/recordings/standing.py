"""What a record says stood around, put into a cluster that has namespaces of its own already."""

from collections.abc import Iterable

from gitbot.kubernetes.objects import KubernetesObject, annotations_of, labels_of
from gitbot.simulation.store import Store, key_of, with_metadata


def put(store: Store, objects: Iterable[KubernetesObject]) -> None:
    """Put objects there as they are; a namespace that stands already gets the record's labels."""
    for obj in objects:
        standing = store.find("Namespace", key_of(obj)) if obj["kind"] == "Namespace" else None
        if standing is None:
            store.create(obj)
            continue
        annotations = {**annotations_of(standing), **annotations_of(obj)}
        store.replace(
            with_metadata(
                standing,
                labels={**labels_of(standing), **labels_of(obj)},
                annotations=annotations or None,
            )
        )
