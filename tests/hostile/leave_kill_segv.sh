# about: bash gets a signal of a crash
# sees: died
# state: lost
hook() { kill -SEGV $$; sleep 5; }
