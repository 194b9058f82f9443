# about: both outputs filled in turn
# sees: returned 0
# limit: 9000000
# size: 4000000 4000000
hook() { head -c 2000000 /dev/zero; head -c 4000000 /dev/zero >&2; head -c 2000000 /dev/zero; }
