"""What was useful: events, confidence, and which entries are told unasked. Pure functions and values.

Reads no files. Begin with `events` (one line of a log), then `statistics` (what logs add up to) and `selection`.
Imports `model`.
"""
