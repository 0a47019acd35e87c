"""The Cluster port over the Kubernetes API; the only place that imports kubernetes."""

from __future__ import annotations

from gitbot.adapters.kubernetes.cluster_diagnosis import ClusterQuestions
from gitbot.adapters.kubernetes.followed_kubernetes_cluster import FollowedKubernetesCluster
from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.adapters.kubernetes.node_metrics import MetricsApi
from gitbot.adapters.kubernetes.transport import Transport

__all__ = [
    "ClusterQuestions",
    "FollowedKubernetesCluster",
    "KubernetesCluster",
    "MetricsApi",
    "Transport",
]
