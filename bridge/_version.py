"""The version, read by the build and by ``ralph-bridge --version``."""

__version__ = "0.2.0"
