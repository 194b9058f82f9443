# about: exec of a program that does not exist ends a shell that is not interactive
# sees: exited 127
# before: 4.2 sees exited 126
# state: lost
hook() { exec /nonexistent/program; }
