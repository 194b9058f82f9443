# about: bash ends itself by a signal: no exit
# sees: died -15
# state: lost
hook() { kill -TERM $$; sleep 5; }
