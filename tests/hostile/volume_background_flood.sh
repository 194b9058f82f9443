# about: a background job floods stdout while the hook has long returned
# sees: returned 0 | limit
# limit: 1000000
# within: 5
hook() { yes & return 0; }
