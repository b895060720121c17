"""A knowledge base for coding agents and the people who steer them, kept as files in git."""
