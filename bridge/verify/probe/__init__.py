"""Runs a script in living bashes and says what it did. Checks ask; nothing is run before somebody does.

with Subject(path) as subject:
    subject.driver.argv(Build(context="Loop #2."))
"""
