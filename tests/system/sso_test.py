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

import daemon_fixture

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


class SsoTestCase(daemon_fixture.DaemonTestCase):
    def oidc(self, port, ca_file, **more):
        secret = pathlib.Path(self.fixture.write("client-secret", "hush-hush"))
        secret.chmod(0o600)
        return {"name": "acme", "client_id": "giftsync", "client_secret": "file:client-secret", "domains": ["acme.com"],
                "issuer": f"https://localhost:{port}", "ca_file": ca_file, **more}

    def saml(self, certificate, **more):
        return {"name": "edge", "type": "saml", "sign_in_url": "https://localhost:1/sso", "certificate": certificate, **more}

    def setUp(self):
        super().setUp()
        self.fixture = self.new_fixture()

    def check(self, name):
        ended = self.fixture.try_ctl("sso", "check", name)
        self.assertNotIn("hush-hush", ended.stdout + ended.stderr)
        return ended.returncode, ended.stdout


class Connections(SsoTestCase):
    # HTTP-45
    def test_an_expired_signing_certificate_is_named_by_line_and_keeps_no_daemon_down(self):
        _, expired = make_certificate(self.fixture.folder, "expired", -30 * DAY, -1 * DAY)
        self.fixture.write_settings(sso(self.saml(expired)))
        ended = subprocess.run([daemon_fixture.GIFTSYNCD, "--config", str(self.fixture.settings), "--check"], capture_output=True,
                               text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stderr, r"giftsyncd\.yaml:5: sso\.connections\[0\]\.certificate: .*which expired on 20")
        self.fixture.start()
        self.assertEqual(self.check("edge")[0], 65)

    def test_metadata_survives_an_independent_parser(self):
        _, certificate = make_certificate(self.fixture.folder, "idp", -1 * DAY, 300 * DAY)
        self.fixture.write_settings(sso(self.saml(certificate, claims={"email": "mail", "name": "urn:oid:2.16.840.1.113730.3.1.241"})))
        printed = self.fixture.ctl("sso", "show", "edge", "--metadata")
        self.fixture.start()
        with urllib.request.urlopen(self.fixture.url + "/api/v1/sso/metadata/edge", timeout=20) as response:
            self.assertEqual(response.headers["Content-Type"], "application/samlmetadata+xml")
            served = response.read().decode()
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
            urllib.request.urlopen(self.fixture.url + "/api/v1/sso/metadata/unknown", timeout=20)
        self.assertEqual(refused.exception.code, 404)


class RealProvider(SsoTestCase):
    """Installs the provider with npm once."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if shutil.which("npm") is None or shutil.which("node") is None:
            raise AssertionError("npm and node are missing; scripts/install-packages installs them")
        cls.folder = tempfile.mkdtemp(prefix="giftsync-oidc.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        for file in PROVIDER.iterdir():
            shutil.copy(file, cls.folder)
        ended = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=cls.folder,
                               capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        if ended.returncode != 0:
            raise unittest.SkipTest("npm cannot fetch oidc-provider: " + ended.stderr[-500:])

    def start_provider(self, key, certificate, issuer=None):
        port = daemon_fixture.free_port()
        provider = subprocess.Popen(["node", "provider.mjs", key, certificate, str(port)] + ([issuer] if issuer else []),
                                    cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(provider.stdout.close)
        self.addCleanup(provider.wait)
        self.addCleanup(provider.kill)
        self.assertTrue(any(line.strip() == "ready" for line in iter(provider.stdout.readline, "")), "the provider ended")
        return port

    def test_a_valid_provider_passes(self):
        key, certificate = make_certificate(self.fixture.folder, "tls", -1 * DAY, 300 * DAY)
        port = self.start_provider(key, certificate)
        self.fixture.write_settings(sso(self.oidc(port, certificate)))
        code, output = self.check("acme")
        self.assertEqual(code, 0, output)
        self.assertIn(f"issuer: https://localhost:{port}\n", output)
        self.assertIn(f"authorization_endpoint: https://localhost:{port}/auth", output)
        self.assertIn("1 of 1 keys", output)
        self.assertTrue(json.loads(self.fixture.ctl("sso", "check", "acme", "--json"))["good"])

    def test_without_its_ca_it_is_not_trusted(self):
        key, certificate = make_certificate(self.fixture.folder, "tls", -1 * DAY, 300 * DAY)
        port = self.start_provider(key, certificate)
        connection = self.oidc(port, certificate)
        del connection["ca_file"]
        self.fixture.write_settings(sso(connection))
        code, output = self.check("acme")
        self.assertEqual(code, 69, output)
        self.assertIn("not trusted here", output)

    def test_a_wrong_issuer_is_reported(self):
        key, certificate = make_certificate(self.fixture.folder, "tls", -1 * DAY, 300 * DAY)
        port = self.start_provider(key, certificate, "https://idp.evil.example")
        self.fixture.write_settings(sso(self.oidc(port, certificate)))
        code, output = self.check("acme")
        self.assertEqual(code, 65, output)
        self.assertRegex(output, r'fault +The provider.s issuer is "https://idp\.evil\.example", which is not "https://localhost:')

    def test_a_trailing_slash_in_the_issuer_is_reported(self):
        key, certificate = make_certificate(self.fixture.folder, "tls", -1 * DAY, 300 * DAY)
        port = self.start_provider(key, certificate)
        self.fixture.write_settings(sso(self.oidc(port, certificate, issuer=f"https://localhost:{port}/")))
        code, output = self.check("acme")
        self.assertEqual(code, 65, output)
        self.assertIn("slash at the end", output)

    def test_an_expired_tls_certificate_is_reported(self):
        key, certificate = make_certificate(self.fixture.folder, "tls", -30 * DAY, -1 * DAY)
        port = self.start_provider(key, certificate)
        self.fixture.write_settings(sso(self.oidc(port, certificate)))
        code, output = self.check("acme")
        self.assertEqual(code, 69, output)
        self.assertIn("certificate has expired", output)

    def test_a_url_without_a_provider_is_reported(self):
        key, certificate = make_certificate(self.fixture.folder, "tls", -1 * DAY, 300 * DAY)
        port = self.start_provider(key, certificate)
        self.fixture.write_settings(sso(self.oidc(port, certificate, issuer=f"https://localhost:{port}/realms/acme")))
        code, output = self.check("acme")
        self.assertEqual(code, 65, output)
        self.assertIn("responds with 404", output)


class CrmInterface(daemon_fixture.DaemonTestCase):
    def test_from_an_organization_to_a_mail(self):
        fixture = self.new_fixture().seed()
        token = fixture.ctl("organization", "create", "--name", "Edge").strip()
        fixture.ctl("crm", "import", "--object", "user", fixture.write("u.csv", f"Id,Name,Email,IsActive\nu1,Ana,{daemon_fixture.SENDER},true\n"))
        fixture.start()

        def send(used=token):
            body = {"sender": {"user_id": "u1"}, "gift_id": 7,
                    "recipients": [{"email": "rose@example.com", "message": "Hi", "gift_redeem_type": "email"}]}
            request = urllib.request.Request(fixture.url + "/api/v1/crm/gift_requests", json.dumps(body).encode(),
                                             {"Organization-Token": used, "Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=20) as response:
                    return response.status, json.load(response)
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code, json.load(refused)

        status, output = send()  # first: of a caller's refusals in one minute only the first has a line of its own
        self.assertEqual(status, 403)
        self.assertEqual([one["code"] for one in output["errors"]], ["account_organization"])
        self.assertIn("A giftsync administrator finds the reason in the log", output["message"])
        self.assertNotIn(daemon_fixture.SENDER, json.dumps(output))
        self.assertIn("lacks account_organization, permission_set (CRM user u1, account ", fixture.log())
        self.assertEqual(send("wrong")[0], 401)
        fixture.ctl("account", "set-organization", daemon_fixture.SENDER, "--organization", "Edge")
        fixture.ctl("crm", "import", "--object", "permission_set_assignment",
                  fixture.write("p.csv", "Id,AssigneeId,PermissionSetName,IsActive,ExpirationDate\np1,u1,Admin,true,2000-01-01\n"))
        self.assertIn("has expired", send()[1]["message"])
        fixture.ctl("crm", "import", "--object", "permission_set_assignment",
                  fixture.write("p.csv", "Id,AssigneeId,PermissionSetName,IsActive,ExpirationDate\np1,u1,Admin,true,\n"))
        status, output = send()
        self.assertEqual(status, 201, output)
        daemon_fixture.wait_until(lambda: list(fixture.outbox.glob("*.eml")), "the mail")
        fixture.ctl("organization", "rotate", "edge", "--grace", "0")
        self.assertIn("revoked", send()[1]["message"])


if __name__ == "__main__":
    daemon_fixture.main()
