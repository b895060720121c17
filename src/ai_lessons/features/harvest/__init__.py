"""Lessons out of past sessions: drafts for a person to keep, hints for hooks, and a replay.

Begin with `jobs`. `sessions` finds the transcripts of agent hosts and `records` reads them,
`checkpoints` has those that a team keeps in git; `memory` keeps what was read. `drafts` are made of
what failed (`calls`, `patterns`, `counts`) and of what people said (`statements`, `corrections`);
`effects` says what they would have changed. `offers`, `walls` and `next_steps` tell at a moment of
a session; `replay` and `evidence` say what entries would have changed in past ones.
"""
