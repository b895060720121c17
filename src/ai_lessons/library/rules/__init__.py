"""Jobs about rules and proposals: suggest, review, approve, reject, audit."""
