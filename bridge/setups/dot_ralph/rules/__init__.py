"""What the loops of this family decide by: circuit breaker, exit signals, calls per hour. Pure."""
