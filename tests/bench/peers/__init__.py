"""The peers that gitbot is measured against: frozen, so that a ratio means the same next year."""
