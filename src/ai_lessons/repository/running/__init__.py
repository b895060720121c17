"""Running programs and scripts, and which of them this machine trusts."""
