# about: the whole process group is killed, host excluded
# sees: died
# state: lost
hook() { sleep 77 & kill 0; wait; }
