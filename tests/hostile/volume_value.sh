# about: a value of 50 MB, read back
# slow: yes
# timeout: 60
# sees: returned 0
# length: BIG 50000000
hook() { BIG=$(head -c 50000000 /dev/zero | tr '\0' x); return 0; }
