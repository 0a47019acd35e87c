"""FreezeWindow, a kind of intent."""
