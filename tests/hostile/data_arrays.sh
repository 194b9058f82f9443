# about: empty, sparse, with gaps and odd elements
# sees: returned 0
# reads: EMPTY 0
# reads: ONE_EMPTY 1
# reads: SPARSE 3
hook() { EMPTY=(); ONE_EMPTY=(''); SPARSE=([3]=$'a\nb' [1000000]='$(touch /nonexistent)' [7]='*'); return 0; }
