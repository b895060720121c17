"""Jobs of the program `lesson`."""
