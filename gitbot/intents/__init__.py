"""Documents to intents and back; intents to rules and goals (in compile only)."""
