"""Jobs of sharing: sync, conflicts, a shared index."""
