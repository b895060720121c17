"""Secrets are found before they reach git."""
