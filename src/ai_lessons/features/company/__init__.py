"""A company's knowledge, there by itself in code that has its remotes.

Begin with `enrolment`; `administrators` reads the file that it rests on, `remotes` the addresses.
"""
