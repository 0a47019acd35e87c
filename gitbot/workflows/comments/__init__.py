"""Commands in comments: a closed grammar, who may use it, and one answer to each.

What somebody wrote is data: it picks a verb and a name, and reaches nothing else.
"""
