# about: integer, readonly, exported, case, nameref
# sees: returned 0
hook() { declare -i -x INTEGER=7; readonly FROZEN='a b'; export FROZEN; declare -u UPPER=abc 2>/dev/null; declare -n REF=INTEGER 2>/dev/null; return 0; }
