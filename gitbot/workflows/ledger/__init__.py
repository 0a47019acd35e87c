"""Reads and writes the ledger, and guards it against rollback."""
