"""The shapes in which entries travel: our own bundle, groove, Markdown, rules of agents."""
