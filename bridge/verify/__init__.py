"""Does this script meet the contract? Facts, checks, reports, and how two versions differ."""
