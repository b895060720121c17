"""Names over HTTP: a gateway says who asks, and the server works in that name.

A proxy of the company authenticates people (OAuth, a directory) and sends the name on in headers.
Begin with `door`; `names` reads the headers, `tiers` says what each may read and write, `log` keeps
who asked what.
"""
