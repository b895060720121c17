"""What was useful: events, confidence, and which entries are told unasked.

Pure functions and values.

Reads no files. Begin with `statistics` (one line of a log, and what logs add up to), then
`selection`. Imports `model`.
"""
