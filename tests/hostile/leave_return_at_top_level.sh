# about: return at the top level of a sourced file ends the file
# source: returned 4
# sees: returned 2
hook() { return 2; }
return 4
