"""Reads and writes the ledger, and detects a rollback of its branch."""
