# about: exit while jobs run
# sees: exited 3
hook() { sleep 75 & sleep 74 & exit 3; }
