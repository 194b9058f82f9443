# about: an array of 100,000 elements, read back
# slow: yes
# sees: returned 0
# reads: BIG 100000
hook() { BIG=(); for ((i = 0; i < 100000; i++)); do BIG[i]=$i; done; return 0; }
