"""The repository of a project: where it stands, what a turn has changed, and commits that keep the work.

``tree``        what git prints about a working tree, read (pure)
``command``     git itself, asked so that it runs nothing that an agent has named
``repository``  one repository: asked, compared, committed
``work``        "was there work?", also where there is no git
``fresh``       a new repository, for demonstrations and trials

What counts as work is the same for every loop: a change of what is in files, or a commit of it, between two
moments. What was dirty before and still is in the same way, a touched file, and the loop's own files are none.
"""
