"""What orbandit raises: every error is an `OrbanditError`, and a `ValueError` or a `TypeError` besides."""

__all__ = ["GroupTooLargeError", "InputError", "InputTypeError", "NoDomainError", "OrbanditError"]


class OrbanditError(Exception):
    """The base of every error raised by this package."""


class InputError(OrbanditError, ValueError):
    """An argument breaks a rule; the message names the rule, the value and the remedy."""


class InputTypeError(OrbanditError, TypeError):
    """An argument is of a type that cannot mean what the parameter asks for."""


class GroupTooLargeError(OrbanditError, ValueError):
    """An operation would list more group elements or orbit points than its limit allows."""


class NoDomainError(OrbanditError, ValueError):
    """The group has no polyhedral fundamental domain, or none that can be computed."""
