# about: stdin moved for good to something that never ends
# sees: returned 0
hook() { exec 0</dev/zero; return 0; }
