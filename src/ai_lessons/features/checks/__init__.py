"""Rules that carry a check: what shows that one is broken, in an edit, a command, or what was done."""
