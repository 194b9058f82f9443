# about: both outputs closed for good
# sees: returned 0
hook() { exec 1>&- 2>&-; return 0; }
