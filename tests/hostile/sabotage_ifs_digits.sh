# about: numbers in unquoted words of ours would be split away
# sees: returned 1
IFS=0123456789
hook() { : $((1 / 0)); }
