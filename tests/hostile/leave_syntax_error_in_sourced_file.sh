# about: a hook sources a file that bash can't parse
# sees: returned 0
hook() { local f; f=$(mktemp) || return 9; echo 'if then fi ((' >"$f"; . "$f" 2>/dev/null; rm -f "$f"; return 0; }
