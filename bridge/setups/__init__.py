"""Existing installations: how each is found, read and written."""
