"""A proxy over TLS on loopback before an OpenID provider: passes requests and answers on, and forges what a test says. It has signing
keys of its own, one of which a test may let the provider publish."""
import base64
import dataclasses
import hashlib
import hmac
import http.client
import http.server
import json
import ssl
import threading
import urllib.parse
from typing import Callable

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

TIMEOUT_SECONDS = 60
ENDPOINTS = {"/.well-known/openid-configuration": "discovery", "/jwks": "keys", "/token": "token", "/me": "userinfo"}
NOT_PASSED_ON = ("connection", "keep-alive", "transfer-encoding", "content-length", "accept-encoding")


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class SigningKey:
    """RSA with 2048 bits, or the curve P-256."""

    def __init__(self, kid, curve=False):
        self.kid = kid
        self.is_curve = curve
        self.key = ec.generate_private_key(ec.SECP256R1()) if curve else rsa.generate_private_key(65537, 2048)

    def jwk(self, **more):
        numbers = self.key.public_key().public_numbers()

        def member(number):
            return encoded(number.to_bytes((number.bit_length() + 7) // 8 if not self.is_curve else 32, "big"))

        kind = ({"kty": "EC", "crv": "P-256", "x": member(numbers.x), "y": member(numbers.y)} if self.is_curve else
                {"kty": "RSA", "n": member(numbers.n), "e": member(numbers.e)})
        return {**kind, "use": "sig", "kid": self.kid, **more}

    def jwk_without_kid(self):
        return {name: value for name, value in self.jwk().items() if name != "kid"}

    def pem(self):
        return self.key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def sign(self, text):
        """The signature of an RS256 or ES256 token."""
        if not self.is_curve:
            return self.key.sign(text, padding.PKCS1v15(), hashes.SHA256())
        r, s = utils.decode_dss_signature(self.key.sign(text, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def hmac_signer(secret):
    return lambda text: hmac.new(secret, text, hashlib.sha256).digest()


def signed_token(header, claims, sign):
    """`claims`: a dict, or the JSON as it is to be."""
    payload = claims if isinstance(claims, str) else json.dumps(claims)
    text = encoded(json.dumps(header).encode()) + "." + encoded(payload.encode())
    return text + "." + encoded(sign(text.encode()))


@dataclasses.dataclass
class Request:
    endpoint: str  # discovery, keys, token, userinfo, authorization, or the path
    method: str
    path: str
    headers: dict
    body: bytes

    def form(self):
        return dict(urllib.parse.parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclasses.dataclass
class Answer:
    status: int
    headers: list
    body: bytes

    def json(self):
        return json.loads(self.body)


@dataclasses.dataclass
class Forgery:
    """What is done at each endpoint; what has no entry is passed on unchanged."""
    before: dict[str, Callable] = dataclasses.field(default_factory=dict)   # changes the Request
    after: dict[str, Callable] = dataclasses.field(default_factory=dict)    # changes the Answer
    instead: dict[str, Callable] = dataclasses.field(default_factory=dict)  # gets the handler and answers itself

    def __or__(self, other):
        return Forgery(self.before | other.before, self.after | other.after, self.instead | other.instead)


class ForgingProxy:
    def __init__(self, key_file, certificate, provider_port):
        self.provider_port = provider_port
        self.client_context = ssl.create_default_context(cafile=certificate)
        self.forgery = Forgery()
        self.seen = []  # the requests since the forgery was set
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                try:
                    proxy.serve(self)
                except OSError:
                    pass  # the other side has closed the connection

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key_file)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_port
        self.url = f"https://localhost:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def set(self, forgery):
        self.forgery = forgery
        self.seen = []

    def count(self, endpoint):
        return sum(request.endpoint == endpoint for request in self.seen)

    def serve(self, handler):
        path = urllib.parse.urlsplit(handler.path).path
        endpoint = ENDPOINTS.get(path) or ("authorization" if path.startswith("/auth") else path)
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in NOT_PASSED_ON}
        request = Request(endpoint, handler.command, handler.path, headers, body)
        forgery = self.forgery
        self.seen.append(request)
        if endpoint in forgery.instead:
            forgery.instead[endpoint](handler)
            return
        if endpoint in forgery.before:
            forgery.before[endpoint](request)
        answer = self.ask_provider(request.method, request.path, request.body, request.headers)
        if endpoint in forgery.after:
            forgery.after[endpoint](answer)
        send(handler, answer)

    def ask_provider(self, method, path, body=b"", headers=None):
        connection = http.client.HTTPSConnection("localhost", self.provider_port, timeout=TIMEOUT_SECONDS,
                                                 context=self.client_context)
        try:
            connection.request(method, path, body if body or method == "POST" else None,
                               {**(headers or {}), "Host": f"localhost:{self.port}"})
            response = connection.getresponse()
            kept = [(name, value) for name, value in response.getheaders() if name.lower() not in NOT_PASSED_ON]
            return Answer(response.status, kept, response.read())
        finally:
            connection.close()


def send(handler, answer):
    handler.send_response(answer.status)
    for name, value in answer.headers:
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(answer.body)))
    handler.end_headers()
    handler.wfile.write(answer.body)
