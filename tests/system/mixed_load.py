"""Gift requests with keys, signed webhooks in batches, page visits and decisions by concurrent clients, each repeated until it is
acknowledged by one of the daemons; and the audit that finds each of them once in store, CRM and mails.

Recipients of every third request get links (endpoint B) and decide on their pages; webhooks report on the others, who get mails.
"""
import base64
import collections
import hashlib
import hmac
import json
import random
import threading
import time
import urllib.parse

import daemon_fixture
from http_client import NO_RESPONSE, SEND, URLS, Client, gift_request

SECRET = base64.b64encode(b"a secret of 24 bytes, ok").decode()
SOURCE = {"name": "vendor", "secret": [SECRET], "status_map": {"viewed": "opened", "claimed": "redeemed"},
          "fields": {"transaction_id": "/gift", "status": "/what", "occurred_at": "/when", "event_id": "/event"}}
SETTINGS = "sources: " + json.dumps([SOURCE]) + "\n"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CLIENT_TIMEOUT_SECONDS = 20
MOMENT_SECONDS = 0.1
MAX_BATCH = 50
RETRIED = (408, 409, 429, 503)


def signed(text, message_id):
    """The headers of a webhook message, as the Standard Webhooks specification has them."""
    timestamp = str(int(time.time()))
    code = hmac.new(base64.b64decode(SECRET), f"{message_id}.{timestamp}.{text}".encode(), hashlib.sha256).digest()
    return {"Content-Type": "application/json", "webhook-id": message_id, "webhook-timestamp": timestamp,
            "webhook-signature": "v1," + base64.b64encode(code).decode()}


class Stopped(Exception):
    """The load ends before this call was acknowledged."""


class Caller:
    """One client of several daemons: goes to the next one when one gives no response or refuses for now."""

    def __init__(self, load, number):
        self.load, self.at = load, number
        self.clients = [Client(one, timeout=CLIENT_TIMEOUT_SECONDS) for one in load.fixtures]

    def call(self, method, path, body=None, headers=None, authorization=True):
        """The response that acknowledges (or answers) this call, repeated as long as it takes. Headers may be a function, for a
        signature with the time in it."""
        while not self.load.stopping.is_set():
            client = self.clients[self.at % len(self.clients)]
            try:
                given = headers() if callable(headers) else headers
                response = client.request(method, path, body, given, authorization)
            except NO_RESPONSE:
                self.load.count("without a response")
                response = None
            if response is not None and response.status not in RETRIED:
                return response
            if response is not None:
                self.load.count(response.status)
                if response.status in (429, 503) and "Retry-After" not in response.headers:
                    self.load.fail(f"{method} {path}: no Retry-After: {response}")
            self.at += 1
            self.load.stopping.wait(MOMENT_SECONDS)
        raise Stopped

    def close(self):
        for client in self.clients:
            client.close()


class MixedLoad:
    """Runs until stop(), or until `count` requests are acknowledged and nothing is left to report or decide."""

    def __init__(self, *fixtures, count=None, name="mixed", senders=4, reporters=2, deciders=2, pause_seconds=0.0):
        """`pause_seconds`: of each client after each call, for a load that leaves the processor time."""
        self.fixtures, self.limit, self.name, self.pause_seconds = fixtures, count, name, pause_seconds
        self.requests = {}    # number -> data of its response
        self.changes = {}     # (transaction, status) -> event id
        self.decisions = {}   # transaction -> status that the page confirmed
        self.visits = 0
        self.calls = collections.Counter()  # what was not acknowledged: status, or "without a response"
        self.faults = []
        self.to_report, self.to_decide = collections.deque(), collections.deque()
        self.sent = 0
        self.sending = senders
        self.random = random.Random(7)
        self.lock = threading.Lock()
        self.ending = threading.Event()    # no new work
        self.stopping = threading.Event()  # no further try
        jobs = [self.send_one] * senders + [self.report_batch] * reporters + [self.decide_one] * deciders
        self.threads = [threading.Thread(target=self.run, args=(job, number), daemon=True) for number, job in enumerate(jobs)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def run(self, job, number):
        caller = Caller(self, number)
        try:
            while not self.faults and job(caller):
                self.stopping.wait(self.pause_seconds)
        except Stopped:
            pass
        except Exception as fault:  # a thread must not end unseen
            self.fail(f"{job.__name__}: {fault!r}")
        finally:
            caller.close()

    def count(self, what):
        with self.lock:
            self.calls[what] += 1

    def fail(self, fault):
        self.faults.append(fault)
        self.stopping.set()

    def acknowledged(self):
        return len(self.requests) + len(self.changes) + len(self.decisions)

    def wait_for(self, condition, what, seconds=300):
        daemon_fixture.wait_until(lambda: self.faults or condition(), what, seconds)
        if self.faults:
            raise AssertionError(self.faults[0])

    def wait_more(self, more, seconds=300):
        """Waits until that many further calls are acknowledged."""
        goal = self.acknowledged() + more
        self.wait_for(lambda: self.acknowledged() >= goal or not any(thread.is_alive() for thread in self.threads),
                      f"{more} more acknowledged calls", seconds)

    def finish(self, seconds=300):
        """No new work; waits until each call that was begun is acknowledged, and everything is reported and decided."""
        self.ending.set()
        self.wait_for(lambda: not any(thread.is_alive() for thread in self.threads), "the last calls", seconds)

    # ---- Requests -----------------------------------------------------------------------------------------------
    def addresses(self, number):
        return [f"{self.name}{number}.{index}@example.com" for index in range(3 if number % 7 == 0 else 1)]

    def by_email(self, number):
        return number % 3 != 2

    def next_number(self):
        with self.lock:
            if self.ending.is_set() or (self.limit is not None and self.sent >= self.limit):
                self.sending -= 1
                return None
            self.sent += 1
            return self.sent - 1

    def send_one(self, caller):
        number = self.next_number()
        if number is None:
            return False
        by_email = self.by_email(number)
        body = gift_request(*self.addresses(number), by_email=by_email)
        response = caller.call("POST", SEND if by_email else URLS, body, {"Idempotency-Key": f"{self.name}-{number}"})
        if response.status not in (200, 201):
            self.fail(f"request {number}: {response}")
            return False
        data = response.json()["data"]
        self.requests[number] = data
        (self.to_report if by_email else self.to_decide).extend(data["recipients"])
        return True

    def has_more(self, queue):
        """False once nothing is left and nothing can come."""
        if queue or self.sending > 0:
            self.stopping.wait(0 if queue else MOMENT_SECONDS)
            return True
        return False

    # ---- Webhooks -----------------------------------------------------------------------------------------------
    def take(self, queue, most):
        with self.lock:
            return [queue.popleft() for _ in range(min(most, len(queue)))]

    def report_batch(self, caller):
        gifts = [one["recipient_transaction_id"] for one in self.take(self.to_report, self.random.randint(1, MAX_BATCH))]
        if not gifts:
            return self.has_more(self.to_report)
        words = [("viewed", "opened"), ("claimed", "redeemed")]
        changes = [(gift, word, status) for gift in gifts for word, status in words[:1 + gift % 2]]
        self.random.shuffle(changes)
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        events = [{"gift": gift, "what": word, "when": when, "event": f"{gift}-{word}"} for gift, word, _ in changes]
        for message in range(2 if gifts[0] % 5 == 0 else 1):  # some batches come twice, in two messages
            self.deliver(caller, events, f"msg-{gifts[0]}-{message}")
        self.changes.update({(gift, status): f"{gift}-{word}" for gift, word, status in changes})
        return True

    def deliver(self, caller, events, message_id):
        text = json.dumps(events)
        response = caller.call("POST", "/api/v1/webhooks/status_changes/vendor", text, lambda: signed(text, message_id),
                               authorization=False)
        if response.status not in (200, 202):
            self.fail(f"webhook: {response}")

    # ---- Pages --------------------------------------------------------------------------------------------------
    def decide_one(self, caller):
        found = self.take(self.to_decide, 1)
        if not found:
            return self.has_more(self.to_decide)
        gift = found[0]["recipient_transaction_id"]
        choice = "accept" if gift % 3 else "donate"
        link = found[0]["gift_redemption_url" if choice == "accept" else "gift_donation_url"]
        path = urllib.parse.urlsplit(link).path
        page = caller.call("GET", path, authorization=False)
        if page.status != 200:
            self.fail(f"page of gift {gift}: {page}")
            return False
        self.visits += 1
        decided = caller.call("POST", path, f"choice={choice}".encode(), FORM, authorization=False)
        if decided.status != 303 or not decided.headers["Location"].endswith("thanks"):
            self.fail(f"decision on gift {gift}: {decided}")
            return False
        self.decisions[gift] = "redeemed" if choice == "accept" else "donated"
        return True

    def summary(self):
        return (f"{len(self.requests)} requests, {len(self.changes)} changes, {self.visits} visits, {len(self.decisions)} decisions, "
                f"not acknowledged: {dict(self.calls)}")


# ---- The audit --------------------------------------------------------------------------------------------------
def audit(test, fixture, load, mail_arrivals):
    """Everything acknowledged is there once. `mail_arrivals`: address -> Message-IDs under which a mail to it arrived."""
    rows = [(int(number), int(request), email, status, int(version)) for number, request, email, status, version in fixture.query(
        f"SELECT id, request_id, email, status, version FROM recipient_transaction WHERE email LIKE '{load.name}%'")]
    audit_requests(test, load, rows)
    audit_changes(test, fixture, load)
    audit_records(test, fixture, load, rows)
    audit_mails(test, fixture, load, mail_arrivals)


def audit_requests(test, load, rows):
    by_request = collections.defaultdict(set)
    for number, request, email, _, _ in rows:
        by_request[request].add((number, email))
    for number, data in load.requests.items():
        reported = {(one["recipient_transaction_id"], one["email"]) for one in data["recipients"]}
        test.assertEqual(by_request.get(data["id"]), reported, f"request {number}")
        test.assertEqual(sorted(email for _, email in reported), load.addresses(number))
    addresses = [email for _, _, email, _, _ in rows]
    test.assertEqual(len(addresses), len(set(addresses)), "a gift exists twice")


def audit_changes(test, fixture, load):
    """Each reported change and each decision is one row of the change log, and no other decision exists."""
    counted = collections.Counter((int(gift), status) for gift, status in fixture.query(
        "SELECT transaction_id, status FROM change_log WHERE source = 'vendor'"))
    test.assertEqual({key: counted[key] for key in load.changes if counted[key] != 1}, {}, "changes lost or doubled")
    decided = collections.defaultdict(list)
    for gift, status in fixture.query("SELECT transaction_id, status FROM change_log WHERE source = 'page' AND status IN ('redeemed', 'donated')"):
        decided[int(gift)].append(status)
    test.assertEqual({gift: decided[gift] for gift, status in load.decisions.items() if decided[gift] != [status]}, {},
                     "decisions lost, doubled or changed")


def audit_records(test, fixture, load, rows):
    """The CRM has one record for each gift, and it agrees with the store and with what was acknowledged."""
    shown = {}
    for number, status, version in fixture.query("SELECT recipienttransactionid, recipienttransactionstatus, record_version FROM crm_gift_record"):
        test.assertNotIn(int(number), shown, "a record exists twice")
        shown[int(number)] = (status, int(version))
    stored = {number: (status, version) for number, _, _, status, version in rows}
    test.assertEqual({number: (shown.get(number), now) for number, now in stored.items() if shown.get(number) != now}, {},
                     "records differ from the store")
    wrong = {gift: stored[gift][0] for gift, status in load.decisions.items() if stored[gift][0] != status}
    test.assertEqual(wrong, {}, "the decision is not the status")
    redeemed = {gift for gift, status in load.changes if status == "redeemed"}
    test.assertEqual({gift for gift in redeemed if stored[gift][0] != "redeemed"}, set(), "a reported redemption is not the status")


def audit_mails(test, fixture, load, arrivals):
    """One mail for each gift by e-mail; a second one, with the same Message-ID, only where the relay's answer was never known. A gift
    that was redeemed before its mail left needs none."""
    repeats = {email: int(count) for email, count in fixture.query(
        "SELECT t.email, d.uncertain_retries FROM mail_outbox d JOIN recipient_transaction t ON t.id = d.transaction_id")}
    withdrawn = {email for (email,) in fixture.query("SELECT t.email FROM mail_outbox d JOIN recipient_transaction t ON t.id = d.transaction_id "
                                                     "WHERE d.state = 'withdrawn' AND t.status = 'redeemed'")}
    expected = {email for number in load.requests if load.by_email(number) for email in load.addresses(number)}
    test.assertEqual(expected - set(arrivals) - withdrawn, set(), "mails are missing")
    for email, ids in arrivals.items():
        if not email.startswith(load.name):
            continue
        test.assertLessEqual(len(ids), 1 + repeats[email], f"{email} got {len(ids)} mails and was uncertain {repeats[email]} times")
        test.assertEqual(len(set(ids)), 1, email)
