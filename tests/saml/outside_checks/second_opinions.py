#!/usr/bin/python3
"""Usage: second_opinions.py FOLDER: asks lasso and pysaml2 whether they accept the documents in FOLDER (documents.json,
written by the test ForgedDocuments), as a service provider that trusts the same certificate and sent the same request.
A verdict other than ours must be in differences.txt with its reason, and each line there must be true. No line excuses that one
of them takes a forger's name for the user's.
"""
import base64
import contextlib
import io
import json
import logging
import pathlib
import sys

import lasso
from saml2 import BINDING_HTTP_POST
from saml2.client import Saml2Client
from saml2.config import SPConfig

USER = "u-4711"
FOLDER = pathlib.Path(sys.argv[1])
CONNECTION = json.loads((FOLDER / "connection.json").read_text())
PEM = (FOLDER / "provider.pem").read_text()
CERTIFICATE = "".join(PEM.split("\n")[1:-2])
logging.disable(logging.CRITICAL)

METADATA = "urn:oasis:names:tc:SAML:2.0:metadata"
PROTOCOL = "urn:oasis:names:tc:SAML:2.0:protocol"
POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
PROVIDER = f"""<EntityDescriptor xmlns="{METADATA}" entityID="{CONNECTION['provider']}">
<IDPSSODescriptor protocolSupportEnumeration="{PROTOCOL}"><KeyDescriptor use="signing">
<KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>{CERTIFICATE}</X509Certificate></X509Data></KeyInfo>
</KeyDescriptor><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example.com/sso"/>
</IDPSSODescriptor></EntityDescriptor>"""
SERVICE = f"""<EntityDescriptor xmlns="{METADATA}" entityID="{CONNECTION['entity_id']}">
<SPSSODescriptor protocolSupportEnumeration="{PROTOCOL}" WantAssertionsSigned="true" AuthnRequestsSigned="false">
<AssertionConsumerService Binding="{POST}" Location="{CONNECTION['post_back_url']}" index="0" isDefault="true"/>
</SPSSODescriptor></EntityDescriptor>"""


def lasso_user(xml):
    """The NameID that lasso accepts; None when it refuses."""
    server = lasso.Server.newFromBuffers(SERVICE)
    server.addProviderFromBuffer(lasso.PROVIDER_ROLE_IDP, PROVIDER)
    login = lasso.Login(server)
    try:
        login.processAuthnResponseMsg(base64.b64encode(xml).decode())
        login.acceptSso()
        return login.nameIdentifier.content
    except (lasso.Error, AttributeError):
        return None


CLIENT = None


def pysaml2_user(xml):
    global CLIENT
    if CLIENT is None:
        config = SPConfig()
        config.load({
            "entityid": CONNECTION["entity_id"],
            "metadata": {"inline": [PROVIDER]},
            "accepted_time_diff": 180,
            "xmlsec_binary": "/usr/bin/xmlsec1",
            "service": {"sp": {
                "endpoints": {"assertion_consumer_service": [(CONNECTION["post_back_url"], BINDING_HTTP_POST)]},
                "allow_unsolicited": False, "want_response_signed": False, "want_assertions_signed": False,
                "want_assertions_or_response_signed": True}}})
        CLIENT = Saml2Client(config)
    try:
        response = CLIENT.parse_authn_request_response(base64.b64encode(xml).decode(), BINDING_HTTP_POST,
                                                       outstanding={"_request": "/"})
        return None if response is None else response.name_id.text
    except Exception:  # pysaml2 refuses with exceptions of many kinds
        return None


def differences():
    lines = {}
    for line in (pathlib.Path(__file__).parent / "differences.txt").read_text().split("\n"):
        if line and not line.startswith("#"):
            who, name, reason = line.split(None, 2)
            lines[(who, name)] = reason
    return lines


expected, faults, seen = differences(), [], set()
for document in json.loads((FOLDER / "documents.json").read_text()):
    name, xml = document["name"], (FOLDER / (document["name"] + ".xml")).read_bytes()
    ours = USER if document["rule"] == "" else None
    for who, ask in (("lasso", lasso_user), ("pysaml2", pysaml2_user)):
        with contextlib.redirect_stderr(io.StringIO()):
            theirs = ask(xml)
        if theirs and theirs.strip() not in ("", USER):
            faults.append(f"{who} {name} signs in {theirs}: no difference excuses that")
        if theirs == ours:
            continue
        seen.add((who, name))
        if (who, name) not in expected:
            faults.append(f"{who} {name} ours: {document['rule'] or 'accepted'}; {who}: {theirs or 'refused'}")
for who, name in expected:
    if (who, name) not in seen:
        faults.append(f"differences.txt has {who} {name}, but the verdicts are equal: remove the line")
for fault in faults:
    print(fault, file=sys.stderr)
print(f"lasso and pysaml2: {len(seen)} differences, {len(faults)} of them unexplained")
sys.exit(1 if faults else 0)
