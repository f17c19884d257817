#!/usr/bin/python3
"""Takes events of giftsync and verifies them (Standard Webhooks 1.0.0): webhook_receiver.py PORT, with the secret in WEBHOOK_SECRET."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import time

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
# Keep both in your database, together with what you make of the events.
seen = set()  # the ids of events that were taken
newest = {}  # the version of each gift that was taken last


def is_genuine(headers, body):
    stamp = headers.get("webhook-timestamp", "")
    if not stamp.isdigit() or abs(time.time() - int(stamp)) > 300:
        return False
    text = f"{headers.get('webhook-id')}.{stamp}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(KEY, text, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(wanted, one) for one in headers.get("webhook-signature", "").split(" "))


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        genuine = is_genuine(self.headers, body)
        if genuine:
            event = json.loads(body)
            gift = event["data"].get("gift")
            is_repeated = self.headers["webhook-id"] in seen
            seen.add(self.headers["webhook-id"])
            # Events of one gift may have the same version: the id alone shows a repeat.
            if not is_repeated and (gift is None or gift["version"] >= newest.get(gift["recipient_transaction_id"], 0)):
                if gift:
                    newest[gift["recipient_transaction_id"]] = gift["version"]
                print(json.dumps(event) + "\n", end="", flush=True)  # your work: only store it here, and answer at once
        self.send_response(204 if genuine else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
