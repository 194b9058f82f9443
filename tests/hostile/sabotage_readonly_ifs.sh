# about: readonly IFS, set to digits
# sees: returned 12
hook() { IFS=0123456789; readonly IFS; return 12; }
