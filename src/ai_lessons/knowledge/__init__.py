"""WHAT things are: pure values and rules. No files, git, network, clock or environment."""
