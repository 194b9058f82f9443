# about: source and . as functions
# sees: returned 2
hook() { return 2; }
function . { echo dot; builtin return 9; }
function source { echo source; builtin return 9; }
