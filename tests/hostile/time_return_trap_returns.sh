# about: a RETURN trap that returns, for the hook that sets it alone
# sees: timeout
# timeout: 0.5
hook() { trap 'return 3' RETURN; return 5; }
