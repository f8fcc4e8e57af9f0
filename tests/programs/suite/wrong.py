"""What is wrong with a run, in a line."""


class Wrong(Exception):
    pass
