"""Files of agent hosts: their settings, sessions, and what we write into them."""
