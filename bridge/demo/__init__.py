"""A throw-away project and a scripted stand-in for each coding-agent CLI."""
