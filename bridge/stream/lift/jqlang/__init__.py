"""The part of the jq language that is lifted."""
