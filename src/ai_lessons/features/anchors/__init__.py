"""Anchors: which code, versions and commands an entry speaks of (`about`), and whether they are as they were.

Begin with `verdicts`.
"""
