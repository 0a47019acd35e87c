"""What virt-api of KubeVirt 1.9.0 was recorded saying of new VirtualMachines and VMIs.

gitbot never writes them, so it does not need to know. The recordings and the control plane do. Only
the rules that a recorded answer shows are here.
"""
