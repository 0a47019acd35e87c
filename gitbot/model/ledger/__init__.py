"""The ledger: requests, effects, events, approvals."""
