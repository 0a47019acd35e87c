"""The shell around the pure rooms, with one sub-room for each task of a person.

`check/` judges the effects of a plan, `propose/` opens pull requests, `ask/` reports the current
state, `apply/` carries out approved plans, `watch/` repeats all of it, `comments/` obeys commands
that people write on a pull request. Other rooms import only each sub-room's `__init__`. The modules
beside them are shared. Ports are arguments.
"""
