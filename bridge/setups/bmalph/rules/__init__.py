"""What only this loop knows: its circuit breaker, exit signals, calls per hour, quality gates and reviews. Pure."""
