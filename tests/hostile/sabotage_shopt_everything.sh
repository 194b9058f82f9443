# about: every shopt is turned on
# sees: returned 0 | returned 1
# state: any
hook() { for o in $(shopt | cut -f1 | grep -v -e extdebug -e compat -e restricted); do shopt -s "$o"; done 2>/dev/null; return 0; }
