"""The autonomous loop: pure decisions, and a thin runner around them."""
