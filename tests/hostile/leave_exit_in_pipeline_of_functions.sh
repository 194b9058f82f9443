# about: exit deep in a function that is a part of a pipeline or runs in the background
# sees: returned 9
deep() { exit 9; }
inner() { deep; echo no; }
hook() { inner & wait $!; [[ $? == 9 ]] || return 1; inner | cat; return ${PIPESTATUS[0]}; }
