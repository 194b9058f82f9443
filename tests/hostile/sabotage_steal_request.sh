# about: a background job reads the requests
# sees: returned 0
# next: any
# state: any
hook() { (exec 3<"$__rb_d/q"; while IFS= read -r -d '' -u 3 x; do :; done) >/dev/null 2>&1 & return 0; }
