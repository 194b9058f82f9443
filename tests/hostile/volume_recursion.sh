# about: a function that calls itself for ever
# slow: yes
# timeout: 30
# sees: died
# state: lost
hook() { hook; }
