"""HTTP clients: keep-alive connections, and raw sockets for malformed requests."""
import contextlib
import http.client
import json
import re
import socket
import ssl

TIMEOUT_SECONDS = 60
SEND = "/api/v1/gift_requests"
URLS = "/api/v1/webhooks/gift_requests"
STATUS_LINE = re.compile(rb"HTTP/1\.1 (\d{3}) [A-Z][A-Za-z -]*\r\n")
NO_RESPONSE = (OSError, http.client.HTTPException)


class Response:
    """One complete response."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {dict(self.headers)} {self.body[:600]!r}>"


class Client:
    """One keep-alive connection to a daemon; reconnects after a loss. Not thread-safe."""

    def __init__(self, fixture, key=None, timeout=TIMEOUT_SECONDS):
        self.key = key if key is not None else fixture.key
        if fixture.tls:
            self.connection = http.client.HTTPSConnection("127.0.0.1", fixture.port, timeout=timeout,
                                                          context=ssl._create_unverified_context())
        else:
            self.connection = http.client.HTTPConnection("127.0.0.1", fixture.port, timeout=timeout)

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def request(self, method, path, body=None, headers=None, authorization=True):
        """Raises one of NO_RESPONSE without a response; the next request then uses a new connection."""
        sent = dict(headers or {})
        if authorization and self.key and "Authorization" not in sent:
            sent["Authorization"] = self.key
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        try:
            self.connection.request(method, path, body, sent)
            return Response(self.connection.getresponse())
        except NO_RESPONSE:
            self.connection.close()
            raise

    def get(self, path, **named):
        return self.request("GET", path, **named)

    def post(self, path, body, **named):
        return self.request("POST", path, body, **named)

    def send_gift(self, *recipients, gift_id=7, idempotency_key=None, **named):
        """POST /api/v1/gift_requests; a recipient is an address or a dict of members that differ from the defaults."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return self.post(SEND, gift_request(*recipients, gift_id=gift_id), headers=headers, **named)


def gift_request(*recipients, gift_id=7, by_email=True):
    usual = {"message": "Thank you!"}
    if by_email:
        usual["gift_redeem_type"] = "email"
    given = [{"email": one} if isinstance(one, str) else one for one in recipients]
    return {"gift_id": gift_id, "recipients": [{**usual, **one} for one in given]}


def end_sending(connection):
    """Over TLS by close_notify, without waiting for that of the server."""
    if not isinstance(connection, ssl.SSLSocket):
        connection.shutdown(socket.SHUT_WR)
        return
    patience = connection.gettimeout()
    connection.settimeout(0)
    with contextlib.suppress(ssl.SSLError):
        connection.unwrap()
    connection.settimeout(patience)


def exchange(fixture, data, half_close=True, timeout=TIMEOUT_SECONDS):
    """Sends these bytes on a new connection and returns all bytes received until it is closed."""
    received = b""
    with fixture.connect(timeout=timeout) as connection:
        try:
            connection.sendall(data)
            if half_close:
                end_sending(connection)
        except OSError:  # refused before the end of the body; the response can still be read
            pass
        try:
            while chunk := connection.recv(65536):
                received += chunk
        except (ConnectionResetError, ssl.SSLZeroReturnError):
            pass
    return received


def statuses(received):
    """The status codes of all responses in a stream of bytes."""
    return [int(code) for code in STATUS_LINE.findall(received)]
