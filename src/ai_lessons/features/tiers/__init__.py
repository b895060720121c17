"""Tiers: what goes from the user's repository to a project's or an enterprise's, and who decides.

Begin with `promotion`. An enterprise states policies (`governance` what they mean, `policies` where
they stand and what they say of a move); `guard` asks them before a write.
"""
