"""The kubelets of a control plane without hosts: nodes that are Ready, pods that run and stop."""

from tests.controlplane.kubelet.kubelets import Kubelets

__all__ = ["Kubelets"]
