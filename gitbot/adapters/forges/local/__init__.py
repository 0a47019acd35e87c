"""The local forge: pull requests as refs and files in a bare Git repository."""
