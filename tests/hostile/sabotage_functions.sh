# about: functions named like everything that a bridge could use
# sees: returned 0
# next: ok
for name in printf read eval command local declare echo cat test '[' trap set unset shift exec export readonly typeset compgen shopt enable true false rm mkfifo; do
    builtin eval "function $name { builtin return 1; }"
done
hook() { builtin return 0; }
