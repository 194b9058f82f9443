# about: read gives up after a second
# sees: returned 0
hook() { TMOUT=1; return 0; }
