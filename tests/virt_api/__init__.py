"""virt-api's whole validation of VirtualMachines and VMIs, KubeVirt 1.9.0.

gitbot never writes them, so it does not need to know. The recordings and the control plane do: what
these rules say was compared with what virt-api answered.
"""
