# about: nothing that is created may be read
# sees: returned 0
hook() { umask 777; return 0; }
