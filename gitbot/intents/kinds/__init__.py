"""One file for each intent kind."""
