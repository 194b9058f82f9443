"""What a run was, read from the loop's records and from git, for the morning after."""
