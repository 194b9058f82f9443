"""What the loops have in common whose files lie in a project's folder ``.ralph``: bmalph's and frankbria's.

``folder`` says where the files lie and which of them a loop writes itself, ``files`` reads and writes them,
``keys`` and ``values`` are how a setting is found and read, ``flags`` and ``controls`` the command line. ``policy``
decides by ``rules``, ``store`` and ``recording`` bring that to the files. What differs stays with each.
"""
