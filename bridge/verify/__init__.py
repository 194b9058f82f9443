"""Is this script to contract? Facts, checks, reports, and how two versions differ."""
