"""The placement diff computed once, printed in every format. Untrusted text is made inert here."""
