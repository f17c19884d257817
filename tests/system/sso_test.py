#!/usr/bin/python3
"""Single sign-on as an administrator tries it: `sso check` against a real OpenID provider over TLS (npm's oidc-provider,
pinned by openid_provider/package-lock.json), one that lies about its name, TLS and signing certificates that expired
yesterday, and the daemon's SAML metadata read by an independent library (pysaml2). The CRM's sending interface at the end:
from the import of its users to the mail."""
import datetime
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from saml2 import md
from saml2.mdstore import InMemoryMetaData

import house

PROVIDER = pathlib.Path(__file__).resolve().parent / "openid_provider"
INSTALL_SECONDS = 300
DAY = datetime.timedelta(days=1)


def make_certificate(folder, name, begins, ends):
    """A self-signed certificate for localhost with its key: (key file, certificate file)."""
    now = datetime.datetime.utcnow()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    certificate = (x509.CertificateBuilder().subject_name(who).issuer_name(who).public_key(key.public_key())
                   .serial_number(x509.random_serial_number()).not_valid_before(now + begins).not_valid_after(now + ends)
                   .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
                   .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
                   .sign(key, hashes.SHA256()))
    key_file, certificate_file = pathlib.Path(folder, name + ".key"), pathlib.Path(folder, name + ".pem")
    key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                           serialization.NoEncryption()))
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return str(key_file), str(certificate_file)


def sso(*connections):
    return "sso: " + json.dumps({"auth_url": "https://login.example.com", "connections": list(connections)}) + "\n"


class Ground(house.HouseTest):
    def oidc(self, port, ca_file, **more):
        secret = pathlib.Path(self.given.write("client-secret", "hush-hush"))
        secret.chmod(0o600)
        return {"name": "acme", "client_id": "giftsync", "client_secret": "file:client-secret", "domains": ["acme.com"],
                "issuer": f"https://localhost:{port}", "ca_file": ca_file, **more}

    def saml(self, certificate, **more):
        return {"name": "edge", "type": "saml", "sign_in_url": "https://localhost:1/sso", "certificate": certificate, **more}

    def setUp(self):
        super().setUp()
        self.given = self.new_house()

    def check(self, name):
        ended = self.given.try_ctl("sso", "check", name)
        self.assertNotIn("hush-hush", ended.stdout + ended.stderr)
        return ended.returncode, ended.stdout


class Connections(Ground):
    def test_an_expired_signing_certificate_is_refused_by_line(self):
        _, expired = make_certificate(self.given.folder, "expired", -30 * DAY, -1 * DAY)
        self.given.write_settings(sso(self.saml(expired)))
        ended = subprocess.run([house.GIFTSYNCD, "--config", str(self.given.settings), "--check"], capture_output=True,
                               text=True, check=False)
        self.assertEqual(ended.returncode, 78)
        self.assertRegex(ended.stderr, r"giftsyncd\.yaml:5: sso\.connections\[1\]\.certificate: .*which expired on 20")

    def test_metadata_survives_an_independent_parser(self):
        _, certificate = make_certificate(self.given.folder, "idp", -1 * DAY, 300 * DAY)
        self.given.write_settings(sso(self.saml(certificate, claims={"email": "mail", "name": "urn:oid:2.16.840.1.113730.3.1.241"})))
        printed = self.given.ctl("sso", "show", "edge", "--metadata")
        self.given.start()
        with urllib.request.urlopen(self.given.url + "/api/v1/sso/metadata/edge", timeout=20) as answer:
            self.assertEqual(answer.headers["Content-Type"], "application/samlmetadata+xml")
            served = answer.read().decode()
        self.assertEqual(served.strip(), printed.strip())
        entity = md.entity_descriptor_from_string(served)
        self.assertIsNotNone(entity, "pysaml2 reads no EntityDescriptor")
        self.assertEqual(entity.entity_id, "urn:giftsync:login.example.com:edge")
        self.assertTrue(entity.verify())
        (provider,) = entity.spsso_descriptor
        self.assertEqual(provider.want_assertions_signed, "true")
        (consumer,) = provider.assertion_consumer_service
        self.assertEqual((consumer.binding, consumer.location),
                         ("urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
                          "https://login.example.com/login/callback?connection=edge"))
        attributes = {one.friendly_name: one.name for one in provider.attribute_consuming_service[0].requested_attribute}
        self.assertEqual(attributes["email"], "mail")
        self.assertEqual(attributes["user_id"], "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier")
        store = InMemoryMetaData(None, served)
        store.load()
        self.assertEqual(list(store.keys()), [entity.entity_id])
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(self.given.url + "/api/v1/sso/metadata/nobody", timeout=20)
        self.assertEqual(refused.exception.code, 404)


class RealProvider(Ground):
    """npm's own client installs the provider once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if shutil.which("npm") is None or shutil.which("node") is None:
            raise AssertionError("npm and node are missing; scripts/install-packages installs them")
        cls.place = tempfile.mkdtemp(prefix="giftsync-oidc.")
        cls.addClassCleanup(shutil.rmtree, cls.place, True)
        for file in PROVIDER.iterdir():
            shutil.copy(file, cls.place)
        ended = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=cls.place,
                               capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        if ended.returncode != 0:
            raise unittest.SkipTest("npm cannot fetch oidc-provider: " + ended.stderr[-500:])

    def start_provider(self, key, certificate, issuer=None):
        port = house.free_port()
        provider = subprocess.Popen(["node", "provider.mjs", key, certificate, str(port)] + ([issuer] if issuer else []),
                                    cwd=self.place, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(provider.stdout.close)
        self.addCleanup(provider.wait)
        self.addCleanup(provider.kill)
        self.assertTrue(any(line.strip() == "ready" for line in iter(provider.stdout.readline, "")), "the provider ended")
        return port

    def test_a_good_provider_is_good(self):
        key, certificate = make_certificate(self.given.folder, "tls", -1 * DAY, 300 * DAY)
        port = self.start_provider(key, certificate)
        self.given.write_settings(sso(self.oidc(port, certificate)))
        code, told = self.check("acme")
        self.assertEqual(code, 0, told)
        self.assertIn(f"issuer: https://localhost:{port}\n", told)
        self.assertIn(f"authorization_endpoint: https://localhost:{port}/auth", told)
        self.assertIn("1 of 1 keys", told)
        self.assertTrue(json.loads(self.given.ctl("sso", "check", "acme", "--json"))["good"])

    def test_without_its_authority_it_is_not_trusted(self):
        key, certificate = make_certificate(self.given.folder, "tls", -1 * DAY, 300 * DAY)
        port = self.start_provider(key, certificate)
        connection = self.oidc(port, certificate)
        del connection["ca_file"]
        self.given.write_settings(sso(connection))
        code, told = self.check("acme")
        self.assertEqual(code, 69, told)
        self.assertIn("not trusted here", told)

    def test_a_provider_that_lies_about_its_name_is_told(self):
        key, certificate = make_certificate(self.given.folder, "tls", -1 * DAY, 300 * DAY)
        port = self.start_provider(key, certificate, "https://idp.evil.example")
        self.given.write_settings(sso(self.oidc(port, certificate)))
        code, told = self.check("acme")
        self.assertEqual(code, 65, told)
        self.assertRegex(told, r'fault +The provider calls itself "https://idp\.evil\.example", which is not "https://localhost:')

    def test_a_slash_too_many_is_told_as_that(self):
        key, certificate = make_certificate(self.given.folder, "tls", -1 * DAY, 300 * DAY)
        port = self.start_provider(key, certificate)
        self.given.write_settings(sso(self.oidc(port, certificate, issuer=f"https://localhost:{port}/")))
        code, told = self.check("acme")
        self.assertEqual(code, 65, told)
        self.assertIn("slash at the end", told)

    def test_a_tls_certificate_that_expired_yesterday_is_told(self):
        key, certificate = make_certificate(self.given.folder, "tls", -30 * DAY, -1 * DAY)
        port = self.start_provider(key, certificate)
        self.given.write_settings(sso(self.oidc(port, certificate)))
        code, told = self.check("acme")
        self.assertEqual(code, 69, told)
        self.assertIn("certificate has expired", told)

    def test_an_address_without_a_provider_is_told(self):
        key, certificate = make_certificate(self.given.folder, "tls", -1 * DAY, 300 * DAY)
        port = self.start_provider(key, certificate)
        self.given.write_settings(sso(self.oidc(port, certificate, issuer=f"https://localhost:{port}/realms/acme")))
        code, told = self.check("acme")
        self.assertEqual(code, 65, told)
        self.assertIn("answers 404", told)


class CrmInterface(house.HouseTest):
    def test_from_an_organization_to_a_mail(self):
        given = self.new_house().furnish()
        token = given.ctl("organization", "create", "--name", "Edge").strip()
        given.ctl("crm", "import", "--object", "user", given.write("u.csv", f"Id,Name,Email,IsActive\nu1,Ana,{house.SENDER},true\n"))
        given.start()

        def send(used=token):
            body = {"sender": {"user_id": "u1"}, "gift_id": 7,
                    "recipients": [{"email": "rose@example.com", "message": "Hi", "gift_redeem_type": "email"}]}
            request = urllib.request.Request(given.url + "/api/v1/crm/gift_requests", json.dumps(body).encode(),
                                             {"Organization-Token": used, "Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code, json.load(refused)

        self.assertEqual(send("wrong")[0], 401)
        status, told = send()
        self.assertEqual(status, 403)
        self.assertEqual([one["code"] for one in told["errors"]], ["account_organization", "permission_set"])
        self.assertIn("giftsyncctl account assign", told["message"])
        given.ctl("account", "assign", house.SENDER, "--organization", "Edge")
        given.ctl("crm", "import", "--object", "permission_set_assignment",
                  given.write("p.csv", "Id,AssigneeId,PermissionSetName,IsActive,ExpirationDate\np1,u1,Admin,true,2000-01-01\n"))
        self.assertIn("has expired", send()[1]["message"])
        given.ctl("crm", "import", "--object", "permission_set_assignment",
                  given.write("p.csv", "Id,AssigneeId,PermissionSetName,IsActive,ExpirationDate\np1,u1,Admin,true,\n"))
        status, told = send()
        self.assertEqual(status, 201, told)
        house.wait_until(lambda: list(given.outbox.glob("*.eml")), "the mail")
        given.ctl("organization", "rotate", "edge", "--overlap", "0")
        self.assertIn("revoked", send()[1]["message"])


if __name__ == "__main__":
    house.main()
