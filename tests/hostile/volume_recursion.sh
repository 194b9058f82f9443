# about: a function that calls itself for ever
# slow: yes
# timeout: 30
# sees: died
# state: lost
# With the depth each call gets dearer (8 MB of stack take bash seven seconds and more): a MB shows the same.
ulimit -S -s 1024
hook() { hook; }
