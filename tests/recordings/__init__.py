"""Recordings of KubeVirt's own controllers, played on the simulator and compared.

A recording is a file of JSON lines (gzip or plain), one record a line: a migration with its target
pod, a request with virt-api's answer, or the trace of a whole story. What is compared with what,
and what is arbitrary in KubeVirt, is in docs/fidelity.md.
"""
