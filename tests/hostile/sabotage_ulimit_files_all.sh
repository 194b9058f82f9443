# about: no descriptor at all: bash can't open its channel any more
# sees: died | timeout
# state: lost
# timeout: 0.5
hook() { exec 3</dev/null; ulimit -n 1; return 0; }
