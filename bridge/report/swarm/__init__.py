"""What a swarm was, likewise: a module that renders it for each format."""
