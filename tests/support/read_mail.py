#!/usr/bin/python3
"""Reads a mail from the file given as argument, as a mail program would, and prints its content as JSON."""
import email
import email.policy
import json
import sys
from email.header import decode_header, make_header

with open(sys.argv[1], "rb") as file:
    content = file.read()
mail = email.message_from_bytes(content, policy=email.policy.default)
old_mail = email.message_from_bytes(content, policy=email.policy.compat32)
parts = list(mail.iter_parts())


def text_of(part):
    """Its lines end with CRLF inside base64."""
    return part.get_content().replace("\r\n", "\n")


def decoded(header):
    """By the older parser: the newer one of Python 3.11 puts spaces into a name that is encoded in several pieces."""
    return " ".join(str(make_header(decode_header(header))).split())


print(json.dumps({
    "headers": [[name, str(value)] for name, value in mail.items()],
    "names": {name: mail[name].addresses[0].display_name for name in ("From", "Reply-To", "To")},
    "decoded": {name: decoded(old_mail[name]) for name in ("From", "To", "Subject")},
    "addresses": {name: [a.addr_spec for a in mail[name].addresses] for name in ("From", "Reply-To", "To")},
    "types": [mail.get_content_type()] + [part.get_content_type() for part in parts],
    "encodings": [part["Content-Transfer-Encoding"] for part in parts],
    "defects": [str(defect) for each in [mail] + parts for defect in each.defects],
    "text": text_of(parts[0]),
    "html": text_of(parts[1]),
}))
