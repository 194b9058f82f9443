"""Rehearsals: a real coding CLI, offline, against a scripted model server in namespaces of its own."""
