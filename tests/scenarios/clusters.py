"""The clusters that scenarios share, made by the simulator: `python -m tests.scenarios.clusters`.

They are plain Kubernetes objects, as `kubectl get -o yaml` prints them, cut down to what gitbot
reads. A test compares the files with what the simulator makes today.
"""

from pathlib import Path

from gitbot.documents import write_documents
from gitbot.simulation.port import SimulatedPort
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.doubles.customapp import customapp
from tests.scenarios.small_clusters import SMALL, flat

HERE = Path(__file__).resolve().parent
START = 1_796_083_200  # 2026-12-01T00:00:00Z


def plain_objects(cluster: SimulatedCluster) -> str:
    """All objects of a cluster that gitbot reads, as YAML documents."""
    snapshot = SimulatedPort(cluster).snapshot()
    objects = [obj for kind in sorted(snapshot.objects) for obj in snapshot.objects[kind]]
    return write_documents(objects)


def clusters() -> dict[str, str]:
    """File name to content."""
    files = {
        f"_clusters/customapp-{step}.yaml": customapp(step=step, start_time=START)
        for step in range(1, 11)
    }
    files["_clusters/customapp-2-jumpbox.yaml"] = customapp(step=2, jumpbox=True, start_time=START)
    files["_clusters/customapp-3-restart.yaml"] = customapp(
        step=3, live_migratable=False, start_time=START
    )
    large = {name: plain_objects(cluster) for name, cluster in files.items()}
    small = {name: write_documents(flat(make())) for name, make in SMALL.items()}
    return {**large, **small}


def main() -> None:
    """Write all files."""
    for name, content in clusters().items():
        (HERE / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
