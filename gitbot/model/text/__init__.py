"""Names, instants, digests and wording."""
