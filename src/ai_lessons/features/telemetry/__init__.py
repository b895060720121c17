"""Counts and durations of hooks, checks and searches, for a collector of OpenTelemetry.

Off unless its own variable, `OTEL_EXPORTER_OTLP_ENDPOINT`, is set. Begin with `records`: a call
notes a line in a file, and `sender`, a process of its own, sends what is there once a minute by
`metrics`. No call waits for a collector. What is sent are numbers and words of our own tables:
never a text, nor the name of a person or a file.
"""
