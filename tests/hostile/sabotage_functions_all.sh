# about: every builtin is a function that prints and fails, builtin itself included
# sees: returned 0
# stdout: real\n
# next: any
# state: kept
# alone: yes
hook() { /bin/echo real; }
for name in alias bg bind break cd caller compgen complete continue declare dirs disown echo enable exec export false \
    fc fg getopts hash help history jobs kill let local logout popd printf pushd pwd read readonly return set shift shopt \
    source suspend test times trap true type typeset ulimit umask unalias unset wait '[' . : command; do
    \builtin eval "function $name { /bin/echo hijacked; [[ a == b ]]; }"
done
eval() { /bin/echo hijacked; [[ a == b ]]; }
builtin() { /bin/echo hijacked; [[ a == b ]]; }
