"""The shell around the pure rooms, one sub-room for each thing that a person does.

`check/` judges what a plan would do, `propose/` opens pull requests, `ask/` tells what is going on,
`apply/` carries out what is approved, `watch/` repeats all of it, `comments/` obeys commands that
people write on a pull request. Other rooms import only each sub-room's `__init__`. The modules
beside them are shared. Ports come in as arguments.
"""
