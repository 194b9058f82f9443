# about: an error that throws bash to its top level
# sees: returned 1
hook() { echo $((1 / 0)); return 0; }
