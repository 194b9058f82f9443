# about: IFS holds bytes 1 and 127
# sees: returned 12
hook() { IFS=$'\001\177'; return 12; }
