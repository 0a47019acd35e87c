"""One forge per module or folder."""
