"""What a user did that cannot work. One line, which says what to do."""


class UserError(Exception):
    """Printed as one line on stderr; the command ends with exit status 2."""
