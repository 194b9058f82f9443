# about: FUNCNEST makes bash refuse nested calls
# bash: 4.2
# sees: returned 0
hook() { FUNCNEST=1; return 0; }
