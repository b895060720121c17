"""Several repositories: which apply, and how they are read as one."""
