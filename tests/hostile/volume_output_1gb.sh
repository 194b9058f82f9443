# about: 1 GB on stdout
# slow: yes
# limit: 1000000
# timeout: 30
# sees: limit
hook() { head -c 1000000000 /dev/zero; return 0; }
