"""The shipped features as tests: a scenario's world, its steps, and which scenario is about which driver."""
