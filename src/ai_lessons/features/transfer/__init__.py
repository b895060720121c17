"""Imports and exports: everything as one JSON document, and what other tools read or kept.

Begin with `jobs`.
"""
