"""Files and folders that are written whole or not at all, and that are replaced only where somebody asked for it."""
