"""bmalph setups: ``.ralph/ralph_loop.sh`` with ``drivers/*.sh``.

``kind`` is the kind as one object, ``layout`` recognises one, ``flags`` is its controller's command line,
``opening`` has the checks before a loop; ``policy`` decides, ``store`` and ``recording`` keep the files, ``rules``
are gates, reviews and stories; ``doctor`` tells people about it. Nothing is imported here.
"""
