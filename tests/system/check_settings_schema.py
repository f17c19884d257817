#!/usr/bin/env python3
"""Checks that the generated giftsyncd.yaml and giftsyncd.schema.json agree, and what the schema accepts and refuses. No
arguments; exit code 0 when they agree. BUILD_DIR names a build folder whose documents are built.
"""
import json
import os
import pathlib
import re
import sys

import jsonschema
import yaml

DOCUMENTS = pathlib.Path(os.environ["BUILD_DIR"]) / "documents"
COMMENTED_KEY = re.compile(r"^( *)#((?:- )?[a-z_]+:.*)$", re.MULTILINE)  # prose comments have a space after the #

MAPS = {"status_map", "headers", "tables", "columns", "objects", "sender_aliases", "groups"}  # the admin chooses their names

MINIMAL = {
    "server": {"base_url": "http://127.0.0.1:8480", "admin_url": "http://127.0.0.1:8480"},
    "store": {"connection": "giftsync.db"},
    "email": {"directory": "outbox", "from": "gifts@example.com"},
}
SERVER = {"base_url": "https://a.example", "admin_url": "https://a.example"}
FIELDS = {"transaction_id": "/id", "status": "/status", "occurred_at": "/time"}
WEBHOOK = {"name": "vendor", "secret": "file:secret", "fields": FIELDS}
POLL = {"name": "feed", "type": "poll", "url": "https://api.example.com/events?v=1", "fields": FIELDS}
RELAY = {"transport": "smtp", "from": "gifts@example.com", "smtp": {"url": "smtp://relay.example.com:587"}}
ACCEPTED = {
    "the smallest settings": MINIMAL,
    "settings with a relay": {**MINIMAL, "email": RELAY},
    "sources of every kind": {
        **MINIMAL,
        "sources": [WEBHOOK, {**WEBHOOK, "name": "b", "signature": "hmac", "signature_header": "X-S"},
                    {**POLL, "since": "since", "overlap": 60, "next": "link", "headers": {"Authorization": "env:T"}},
                    {**POLL, "name": "c", "since": "since", "page_size": 100},
                    {**POLL, "cursor": {"pointer": "/next", "parameter": "after"}},
                    {"name": "aws", "preset": "ses", "topic": "arn:aws:sns:eu-west-1:123456789012:mails"},
                    {"name": "mg", "preset": "mailgun", "secret": ["env:A", "env:B"], "may_set": ["opened"]}],
    },
    "settings with TLS": {**MINIMAL, "server": {**SERVER, "tls": {"certificate": "a.pem", "key": "credential:k", "minimum_version": "1.3"}}},
    "an empty section of TLS": {**MINIMAL, "server": {**MINIMAL["server"], "tls": {}}},
    "settings with PostgreSQL": {
        **MINIMAL,
        "store": {"backend": "postgresql", "connection": "dbname=gifts", "password": "env:STORE_PASSWORD"},
    },
}
ACCEPTED["a CRM that someone else owns"] = {
    **MINIMAL,
    "crm": {"connection": "dbname=crm", "schema": "salesforce", "id_column": "sfid", "tables": {"user": "-"},
            "columns": {"contact.Email": "mail", "gift_record.Message": "-"}},
}
JWT = {"domain": "https://acme.my.salesforce.com", "client_id": "3MVG9", "username": "g@acme.example", "private_key": "file:k"}
CLIENT = {"domain": "http://127.0.0.1:8080", "flow": "client_credentials", "client_id": "3MVG9", "client_secret": "env:S"}


def org(salesforce, more={}, **crm):
    return {**MINIMAL, "crm": {"type": "salesforce", "salesforce": salesforce, **crm}, **more}


ACCEPTED["an org of Salesforce"] = org(JWT)
ACCEPTED["an org with request records"] = org(JWT, {"requests": {"enabled": True}})
ACCEPTED["an org with everything said"] = org(
    {**CLIENT, "login": "sandbox", "api_version": 62.0, "share": 50, "keep_free": 0, "rows_a_call": 200, "mode": "guarded"},
    {"requests": {"enabled": False}}, namespace="", integration_user="0055g000001AbCdAAK", objects={"gift_record": "thx__Gift__c"},
    columns={"gift_record.Record_Version": "Version__c", "gift_record.Message": "-"}, status_log=None)
ACCEPTED["an org with the package of another owner"] = org(
    {**JWT, "mode": "bare"}, namespace="thx", columns={"task.RecipientTransactionId": "Gift_Key__c"})
ACCEPTED["a CRM with what is said of users and tasks"] = {
    **MINIMAL,
    "crm": {"sender_aliases": {"ana@old.example": "ana@example.com"}, "fallback_owner": "0055g000001AbCdAAK"},
    "tasks": {"enabled": True, "subject": "Gift: {item}", "due_days": 3, "assignee": "account_owner"},
    "feed": {"enabled": True, "keep_days": 7}, "webhooks": {"allowed_networks": ["10.0.0.0/8"], "log_days": 1},
}
ACCEPTED["a CRM in tables with an empty section for Salesforce"] = {**MINIMAL, "crm": {"type": "sql", "salesforce": None}}
OIDC = {"name": "acme", "client_id": "giftsync", "client_secret": "env:S", "issuer": "https://idp.acme.com/",
        "domains": ["acme.com"]}
SAML = {"name": "edge", "type": "saml", "sign_in_url": "https://idp.edge.com/sso?tenant=1", "certificate": "edge.pem"}
DIRECTORY = {"name": "dir", "type": "directory", "domain": "edge.onmicrosoft.com", "client_id": "a", "client_secret": "env:S"}


def sso(*connections, **more):
    return {**MINIMAL, "sso": {"auth_url": "https://login.example.com", "connections": list(connections), **more}}


ACCEPTED["connections of every kind"] = sso(
    OIDC, {**SAML, "hash": "sha1", "claims": {"email": "mail"}, "domains": ["edge.com"]}, {**DIRECTORY, "identity_api": "v1"},
    authority="https://login.microsoftonline.us")
ACCEPTED["the package settings"] = {
    **MINIMAL, "requests": {"organization_token": "env:T", "api_endpoint": "https://a.example.com",
                             "sending_interface_url": "https://b.example.com"}}
ACCEPTED["request records in the managed CRM"] = {**MINIMAL, "crm": {"type": "sql"}, "requests": {"enabled": True}}
ACCEPTED["a CRM that someone else owns, without request records"] = {
    **MINIMAL, "crm": {"connection": "dbname=crm"}, "requests": {"enabled": False}}
ACCEPTED["a company's face"] = {
    **MINIMAL, "pages": {"company_name": "Edge", "colour": "#0A6650", "logo": "logo.svg", "language": "de",
                          "charities": [{"name": "A", "link": "https://a.example/?b=1"}, {"name": "B"}]}}
REFUSED = {
    "an org without the section": {**MINIMAL, "crm": {"type": "salesforce"}},
    "an org without its domain": org({k: v for k, v in JWT.items() if k != "domain"}),
    "an org without a key": org({k: v for k, v in JWT.items() if k != "private_key"}),
    "a client without its secret": org({k: v for k, v in CLIENT.items() if k != "client_secret"}),
    "a client with a key": org({**CLIENT, "private_key": "file:k"}),
    "an org with a path": org({**JWT, "domain": "https://acme.my.salesforce.com/services"}),
    "an old version of the API": org({**JWT, "api_version": "58.1"}),
    "an org of another mode": org({**JWT, "mode": "auto"}),
    "a package of another owner with request records": org({**JWT, "mode": "bare"}, {"requests": {"enabled": True}}),
    "an org behind a connection": org(JWT, connection="dbname=crm"),
    "a status log with a schema": org(JWT, status_log={"object": "salesforce.log"}),
    "a name for a standard object": org(JWT, objects={"contact": "Person"}),
    "keys of Salesforce for tables": {**MINIMAL, "crm": {"salesforce": JWT}},
    "columns of the managed CRM": {**MINIMAL, "crm": {"columns": {"contact.Email": "mail"}}},
    "a poll by time without page_size": {**MINIMAL, "sources": [{**POLL, "since": "s"}]},
    "a poll by time with page_size and next": {**MINIMAL, "sources": [{**POLL, "since": "s", "page_size": 9, "next": "link"}]},
    "a colour by its name": {**MINIMAL, "pages": {"colour": "blue"}},
    "a charity without a name": {**MINIMAL, "pages": {"charities": [{"link": "https://a.example"}]}},
    "a charity's page over http": {**MINIMAL, "pages": {"charities": [{"name": "A", "link": "http://a.example"}]}},
    "a connection over http": sso({**OIDC, "issuer": "http://idp.acme.com"}),
    "a connection without a secret": sso({k: v for k, v in OIDC.items() if k != "client_secret"}),
    "an oidc connection without domains": sso({**OIDC, "domains": []}),
    "a SAML connection with a client": sso({**SAML, "client_id": "a"}),
    "a directory with a certificate": sso({**DIRECTORY, "certificate": "a.pem"}),
    "a name that fits no URN": sso({**OIDC, "name": "Acme Inc"}),
    "connections without auth_url": {**MINIMAL, "sso": {"connections": [OIDC]}},
    "a table's name with a quote": {**MINIMAL, "crm": {"connection": "dbname=crm", "tables": {"user": 'a"b'}}},
    "an object that is none": {**MINIMAL, "crm": {"connection": "dbname=crm", "tables": {"usr": "a"}}},
    "names without a connection": {**MINIMAL, "crm": {"schema": "salesforce"}},
    "request records in a CRM that someone else owns": {
        **MINIMAL, "crm": {"connection": "dbname=crm"}, "requests": {"enabled": True}},
    "no settings": {},
    "an unknown key": {**MINIMAL, "serverr": {}},
    "metrics at a name": {**MINIMAL, "metrics": {"listen": "localhost:9480"}},
    "a refund day of refunds at once": {**MINIMAL, "lifecycle": {"refund": "at_once", "refund_day": 3}},
    "a relay without its URL": {**MINIMAL, "email": {"transport": "smtp", "from": "gifts@example.com"}},
    "a relay's URL beside the file transport": {**MINIMAL, "email": {**MINIMAL["email"], "smtp": RELAY["smtp"]}},
    "a user name without a password": {
        **MINIMAL,
        "email": {**RELAY, "smtp": {**RELAY["smtp"], "username": "gifts"}},
    },
    "a password for SQLite": {**MINIMAL, "store": {"connection": "giftsync.db", "password": "env:X"}},
    "a source without a name": {**MINIMAL, "sources": [{**POLL, "name": None}]},
    "a poll without a URL": {**MINIMAL, "sources": [{"name": "feed", "type": "poll", "fields": FIELDS}]},
    "a webhook with a URL": {**MINIMAL, "sources": [{**WEBHOOK, "url": "https://api.example.com"}]},
    "a webhook without a secret": {**MINIMAL, "sources": [{"name": "vendor", "fields": FIELDS}]},
    "hmac without its header": {**MINIMAL, "sources": [{**WEBHOOK, "signature": "hmac"}]},
    "half a cursor": {**MINIMAL, "sources": [{**POLL, "cursor": {"pointer": "/next"}}]},
    "a preset with fields": {**MINIMAL, "sources": [{**WEBHOOK, "preset": "mailgun"}]},
    "a preset that redeems": {
        **MINIMAL, "sources": [{"name": "mg", "preset": "mailgun", "secret": "env:A", "may_set": ["redeemed"]}]},
    "a number as text": {**MINIMAL, "limits": {"max_recipients": "5"}},
    "a certificate without its key": {**MINIMAL, "server": {**SERVER, "tls": {"certificate": "a.pem"}}},
    "a version of TLS without a certificate": {**MINIMAL, "server": {**SERVER, "tls": {"minimum_version": "1.3"}}},
    "TLS with a URL that is plain": {
        **MINIMAL, "server": {**SERVER, "admin_url": "http://a.example", "tls": {"certificate": "a.pem", "key": "a.key"}}},
}


def keys_of(settings, prefix=""):
    """The dotted paths of all values, without those of their sections."""
    for name, value in settings.items():
        if isinstance(value, dict) and name not in MAPS:
            yield from keys_of(value, prefix + name + ".")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from keys_of(value[0], prefix + name + ".")
        else:
            yield prefix + name


def properties_of(schema, prefix=""):
    for name, part in schema["properties"].items():
        if "properties" in part:
            yield from properties_of(part, prefix + name + ".")
        elif "properties" in part.get("items", {}):
            yield from properties_of(part["items"], prefix + name + ".")
        else:
            yield prefix + name, part


def faults():
    schema = json.loads((DOCUMENTS / "giftsyncd.schema.json").read_text(encoding="utf-8"))
    text = (DOCUMENTS / "giftsyncd.yaml").read_text(encoding="utf-8")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for error in validator.iter_errors(yaml.safe_load(text)):
        yield f"giftsyncd.yaml: {error.json_path}: {error.message}"

    shown = set(keys_of(yaml.safe_load(COMMENTED_KEY.sub(r"\1\2", text))))
    described = dict(properties_of(schema))
    for key in sorted(shown - described.keys()):
        yield f"giftsyncd.yaml has {key}, the schema has not"
    for key in sorted(described.keys() - shown):
        yield f"the schema has {key}, giftsyncd.yaml has not"

    for key, part in described.items():
        for word in ("description", "examples"):
            if not part.get(word):
                yield f"the schema has no {word} for {key}"
        samples = part.get("examples", []) + ([part["default"]] if "default" in part else [])
        for sample in samples:
            if not jsonschema.Draft202012Validator(part).is_valid(sample):
                yield f"the schema refuses its own example or default {sample!r} of {key}"

    for what, settings in ACCEPTED.items():
        for error in validator.iter_errors(settings):
            yield f"the schema refuses {what}: {error.json_path}: {error.message}"
    for what, settings in REFUSED.items():
        if validator.is_valid(settings):
            yield f"the schema accepts {what}"


def main():
    found = list(faults())
    for fault in found:
        print(fault, file=sys.stderr)
    if not found:
        print("giftsyncd.yaml and giftsyncd.schema.json agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
