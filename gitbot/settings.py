"""The configuration value (`.gitbot.yaml`) and its reader."""
