# about: bash kills itself
# sees: died -9
# state: lost
hook() { echo before; kill -9 $$; echo after; }
