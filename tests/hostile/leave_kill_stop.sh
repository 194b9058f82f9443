# about: bash stops itself; a stopped process can't end by itself
# sees: timeout
# timeout: 0.3
hook() { kill -STOP $$; return 1; }
