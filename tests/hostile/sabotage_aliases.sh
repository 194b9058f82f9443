# about: aliases of keywords and builtins
# sees: returned 2
shopt -s expand_aliases
alias builtin=false eval=false printf=false case=false if=false '[['=false while=false trap=false exit=true return=true
function hook
{
\return 2
}
