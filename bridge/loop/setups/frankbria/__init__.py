"""frankbria's setups: one loop per user (``~/.ralph``, started as ``ralph``), settings in ``.ralphrc``.

``kind`` is the kind as one object, ``layout`` tells one, ``keys`` and ``settings`` are what it shall do, ``flags``
and ``controls`` its command line, ``opening`` the checks before a loop; ``claude`` builds the command, ``reading``
judges the answer, ``policy`` decides, ``store`` and ``recording`` keep the files; ``adoption`` stands in for
``ralph``. Nothing is imported here.
"""
