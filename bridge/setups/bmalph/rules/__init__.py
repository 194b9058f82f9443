"""What only this loop knows: quality gates, reviews, its plan's stories. Pure."""
