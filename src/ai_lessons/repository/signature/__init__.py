"""Signed records of approvals, and whose keys count."""
