"""The library that every door calls: one method per job, grouped as the commands are. Prints nothing, asks nothing."""
