"""Certificates of tests, with their keys: a daemon's own, for 127.0.0.1."""
import collections
import datetime
import ipaddress
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa as rsa_keys
from cryptography.x509.oid import NameOID

Pair = collections.namedtuple("Pair", "certificate key der")


def make_pair(names=("127.0.0.1", "localhost"), days=(-1, 90), rsa=False):
    """Self-signed; valid from and until so many days from now."""
    key = rsa_keys.generate_private_key(65537, 2048) if rsa else ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test.example.com")])
    now = datetime.datetime.utcnow()

    def name_of(text):
        try:
            return x509.IPAddress(ipaddress.ip_address(text))
        except ValueError:
            return x509.DNSName(text)

    certificate = (x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
                   .serial_number(x509.random_serial_number())
                   .not_valid_before(now + datetime.timedelta(days=days[0])).not_valid_after(now + datetime.timedelta(days=days[1]))
                   .add_extension(x509.SubjectAlternativeName([name_of(name) for name in names]), critical=False)
                   .sign(key, hashes.SHA256()))
    return Pair(certificate.public_bytes(serialization.Encoding.PEM),
                key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
                certificate.public_bytes(serialization.Encoding.DER))


def install_pair(folder, pair):
    """As tls.pem and tls.key, one after the other, each at once."""
    for name, content in (("tls.pem", pair.certificate), ("tls.key", pair.key)):
        temporary = folder / (name + ".new")
        temporary.write_bytes(content)
        temporary.chmod(0o600)
        os.replace(temporary, folder / name)
