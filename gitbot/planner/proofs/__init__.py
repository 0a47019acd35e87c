"""Proofs that no plan exists, or none with fewer moves."""
