# about: exec of a program that does not exist ends a shell that is not interactive
# sees: exited 127
# state: lost
hook() { exec /nonexistent/program; }
