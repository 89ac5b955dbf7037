"""The fields of a multipart form, read strictly: each once, text as text, a file as a file."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.utils.datastructures import MultiValueDict

from submissions.kernel_package.errors import Rejected

Form = MultiValueDict[str, Any]


def text_field(form: Form, name: str, default: str = "", longest: int | None = None) -> str:
    """Return a field's text, or `default` where it was not sent; `longest` is in characters.

    Raises Rejected `upload:field` for a file, a repeated field, a NUL and a text that is too long.
    """
    value = _sent_once(form, name)
    if value is None:
        return default
    if isinstance(value, UploadedFile):
        raise _refusal(name, f"{name} came as a file: send it as text, -F {name}=TEXT")
    text = str(value)
    if "\0" in text:
        raise _refusal(name, f"{name} holds a NUL: send it as plain text, without")
    if longest is not None and len(text) > longest:
        raise _refusal(name, f"{name} has {len(text)} characters: send at most {longest}")
    return text


def file_field(form: Form, name: str) -> UploadedFile[bytes] | None:
    """Return a field's file, None where it was not sent.

    Raises Rejected `upload:field` for text and a repeated field.
    """
    value = _sent_once(form, name)
    if isinstance(value, UploadedFile):
        return value
    if value:
        raise _refusal(name, f"{name} came as text: send it as a file, -F {name}=@FILE")
    return None


def _sent_once(form: Form, name: str) -> Any:
    values = form.getlist(name)
    if len(values) > 1:
        raise _refusal(name, f"{name} came {len(values)} times: send it once")
    return values[0] if values else None


def _refusal(name: str, message: str) -> Rejected:
    return Rejected("upload:field", message, field=name)
