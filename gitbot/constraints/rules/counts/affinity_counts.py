"""NearPart as counts by domain: company for the VM that moves, and for the VMs that it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gitbot.constraints.rules.node_domains import NodeDomains
from gitbot.constraints.rules.rule_parts import AffinityPart, Peers
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask, NodeColumns

_Nodes = frozenset[str]


@dataclass(slots=True, kw_only=True)
class _Company:
    """One distinct term: how many of its VMs hold a place in each domain, and anywhere."""

    peers: Peers
    domains: NodeDomains
    fixed: set[int]
    subjects: set[NamespacedName] = field(default_factory=set)
    held: dict[int, int] = field(default_factory=dict)
    placed: int = 0

    def alone(self, vm: NamespacedName, mine: set[int], domain: int, *, first: bool) -> bool:
        """Whether the VM lacks company in a domain; `mine` are the domains that it holds."""
        if domain < 0:
            return True
        own = vm in self.peers.vms
        if first and not self.peers.fixed and self.placed - own <= 0:
            return False
        near = self.held.get(domain, 0) - (own and domain in mine)
        return near <= 0 and domain not in self.fixed


class NearCounts:
    """NearPart: it gets worse if the VM lacks company, or leaves another VM without any."""

    def __init__(self, part: AffinityPart, columns: NodeColumns) -> None:
        self._part = part
        self._companies: list[_Company] = []
        self._of: dict[NamespacedName, list[_Company]] = {}
        self._places: dict[NamespacedName, _Nodes] = {}
        known: dict[tuple[str, frozenset[NamespacedName], frozenset[str]], _Company] = {}
        for vm, terms in part.terms.items():
            for peers in terms:
                company = known.get(key := (peers.topology_key, peers.vms, peers.fixed))
                if company is None:
                    domains = NodeDomains(columns, peers.topology_key)
                    fixed = domains.of(peers.fixed) - {-1}
                    company = known[key] = _Company(peers=peers, domains=domains, fixed=fixed)
                company.subjects.add(vm)
                self._of.setdefault(vm, []).append(company)
        self._companies = list(known.values())

    def fork(self) -> NearCounts:
        copy = object.__new__(NearCounts)
        forks = {id(item): replace(item, held=dict(item.held)) for item in self._companies}
        copy._part, copy._companies = self._part, list(forks.values())
        copy._of = {vm: [forks[id(item)] for item in items] for vm, items in self._of.items()}
        copy._places = dict(self._places)
        return copy

    def shift(self, vm: NamespacedName, before: _Nodes, after: _Nodes) -> None:
        self._places[vm] = after
        for company in self._companies:
            if vm in company.peers.vms:
                company.domains.count(company.held, before, after)
                company.placed += bool(after) - bool(before)

    def keep(self, mask: Mask, vm: NamespacedName, source: str, held: _Nodes) -> None:
        if vm in self._of and not self._broken(vm, held):
            for company in self._of[vm]:
                self._with_company(mask, vm, held, company)
        for company in self._companies:
            if vm in company.peers.vms:
                self._without_leaving(mask, vm, source, company)

    def _broken(self, vm: NamespacedName, held: _Nodes) -> bool:
        first = vm in self._part.first
        for company in self._of[vm]:
            mine = company.domains.of(held)
            if any(company.alone(vm, mine, domain, first=first) for domain in mine):
                return True
        return False

    def _with_company(
        self, mask: Mask, vm: NamespacedName, held: _Nodes, company: _Company
    ) -> None:
        mine = company.domains.of(held)
        own = vm in company.peers.vms
        if vm in self._part.first and not company.peers.fixed and company.placed - own <= 0:
            company.domains.leave_unlabelled(mask)
            return
        near = {
            domain for domain, count in company.held.items() if count - (own and domain in mine) > 0
        }
        mask &= company.domains.table(near | company.fixed)[company.domains.column.ids]

    def _without_leaving(
        self, mask: Mask, vm: NamespacedName, source: str, company: _Company
    ) -> None:
        """Keeps only the VM's own domain if it is the last company of a VM that stays."""
        for domain in company.domains.of({source}) - {-1}:
            if company.held.get(domain, 0) > _VM_AND_FRIEND or domain in company.fixed:
                continue
            if any(self._needs(friend, domain, company) for friend in company.subjects - {vm}):
                mask &= company.domains.column.ids == domain

    def _needs(self, friend: NamespacedName, domain: int, company: _Company) -> bool:
        """Whether a VM that has company everywhere would lose its last one in a domain."""
        places = self._places.get(friend, frozenset())
        mine = company.domains.of(places)
        others = company.held.get(domain, 0) - 1 - (friend in company.peers.vms)
        return domain in mine and others <= 0 and not self._broken(friend, places)


_VM_AND_FRIEND = 2
