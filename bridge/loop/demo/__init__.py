"""A throwaway project and a scripted stand-in for each coding-agent CLI."""
