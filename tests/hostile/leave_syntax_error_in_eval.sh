# about: eval of what is no code
# sees: returned 0
hook() { eval 'for do done )' 2>/dev/null; eval '"unclosed' 2>/dev/null; eval '$(((' 2>/dev/null; return 0; }
