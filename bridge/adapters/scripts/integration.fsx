// What ralph-bridge loads into F# Interactive: nothing. Its prompt can't be changed, so it is found by its pattern, and
// every statement here would print something.
