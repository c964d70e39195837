"""Hashes of arguments and results as an outsider computes them: the PyPI package rfc8785 and hashlib, nothing of ours."""

import hashlib
import json
import re

import rfc8785

MAX_SAFE_INTEGER = 2**53 - 1
TYPE_KEY = re.compile(r"\$+toolspan")


class NotJson(ValueError):
    """The text is no JSON at all."""


def parse(text):
    """What JSON.parse reads: numbers are doubles, so integers that a double cannot hold are rounded as one."""
    try:
        return json.loads(text, parse_int=_number, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error


def _number(digits):
    number = int(digits) if len(digits) < 18 else None
    return number if number is not None and abs(number) <= MAX_SAFE_INTEGER else float(digits)


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def canonical(value):
    """UTF-8 bytes of RFC 8785, with the key that marks typed forms escaped."""
    return rfc8785.dumps(_escaped(value))


def _escaped(value):
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    if isinstance(value, dict):
        return {f"${key}" if TYPE_KEY.fullmatch(key) else key: _escaped(item) for key, item in value.items()}
    return value


def without(value, keys):
    """`value` less the members with these names, at any depth."""
    if isinstance(value, list):
        return [without(item, keys) for item in value]
    if isinstance(value, dict):
        return {key: without(item, keys) for key, item in value.items() if key not in keys}
    return value


def hash_of(value):
    """As a receipt has it; `refused:<reason>` where there is no canonical form."""
    try:
        return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()
    except rfc8785.FloatDomainError:
        return "refused:non_finite"
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        return "refused:lone_surrogate"


def hash_of_text(text):
    """Of raw text: arguments that could not be parsed."""
    try:
        return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()
    except UnicodeEncodeError:
        return "refused:lone_surrogate"
