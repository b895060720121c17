"""Lessons out of past sessions: drafts for a person to keep, hints for hooks, and a replay.

Begin with `jobs`. `sessions` finds the transcripts of agent hosts and `records` reads them,
`checkpoints` has those that a team keeps in git; `memory` keeps what was read. Of that `drafts`
makes candidates, from failures and from what people said (`statements`, `corrections`). `hooks` has
what the last harvest left for hooks. `replay` and `evidence` say what entries would have changed.
"""
