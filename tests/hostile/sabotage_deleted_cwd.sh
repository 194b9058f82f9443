# about: the working folder is deleted under our feet
# sees: returned 0
hook() { local d; d=$(mktemp -d) || return 9; cd "$d" && rmdir "$d"; return 0; }
