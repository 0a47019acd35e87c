"""gitbot: GitOps for where virtual machines run."""

__version__ = "0.1.0"
