"""Docs and scripts from files, folders and pages of the web, and what became of where they came from.

Begin with `jobs`.
"""
