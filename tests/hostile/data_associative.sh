# about: an associative array with odd keys
# bash: 4.0
# sees: returned 0
# reads: MAP 6
hook() { declare -gA MAP 2>/dev/null || return 0; MAP=(['a b']=1 ["'"]=2 ['"']=3 ['$(id)']=4 [$'\n']=5 ['\']=6); }
