# about: what reads a file is a function, and so is nearly everything else; requests come by file, too
# sees: returned 0
# stdout: ok\n
hook() { /bin/echo ok; }
for name in read command local declare echo cat test '[' trap set unset shift exec export readonly typeset compgen shopt \
    enable . : eval printf; do
    builtin eval "function $name { builtin return 127; }"
done
ping() { PONG=("$@"); [[ ${1-} == yes ]]; }
