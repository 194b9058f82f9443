# about: an associative array with odd keys
# bash: 4.2
# sees: returned 0
# reads: MAP 6
hook() {
    declare -gA MAP
    MAP["a b"]=1 MAP["'"]=2
    MAP['"']=3 MAP['$(id)']=4 MAP[$'\n']=5 MAP['\']=6 # bash 4.2 misreads some of these between parentheses
}
