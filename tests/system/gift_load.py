"""Gift requests of many concurrent clients, each retried until it is acknowledged, and checks of the outcome."""
import threading

import daemon_fixture
from http_client import NO_RESPONSE, SEND, URLS, Client, gift_request

CLIENTS = 32
MOMENT_SECONDS = 0.1


class GiftLoad:
    """Posts `count` gift requests, each with its own Idempotency-Key, until each is acknowledged.

    Every seventh has three recipients, every tenth only asks for URLs. Request n goes to fixtures[n % len(fixtures)].
    """

    def __init__(self, *fixtures, count, name="gift", clients=CLIENTS):
        self.fixtures, self.count, self.name = fixtures, count, name
        self.acknowledged = {}  # number -> data of its response
        self.without_response = 0
        self.refused = {}       # status -> count; only 409 and 503 are retried
        self.retry_after_missing = 0
        self.fault = None
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.numbers = iter(range(count))
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(clients)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def wait_for(self, condition, what, seconds=300):
        """Waits for a condition; an unexpected response ends the wait with a failure."""
        daemon_fixture.wait_until(lambda: self.fault or condition(), what, seconds)
        if self.fault:
            raise AssertionError(self.fault)

    def wait_acknowledged(self, goal):
        self.wait_for(lambda: len(self.acknowledged) >= goal, f"{goal} acknowledged gifts")

    def wait_refused(self, more):
        """Waits until `more` further requests got 503, or until all are acknowledged."""
        goal = self.refused.get(503, 0) + more
        self.wait_for(lambda: self.refused.get(503, 0) >= goal or not any(thread.is_alive() for thread in self.threads),
                      f"{goal} responses with 503")

    def join(self, seconds=600):
        """Waits until all are acknowledged."""
        self.wait_for(lambda: not any(thread.is_alive() for thread in self.threads), "all gifts", seconds)

    def stop(self):
        """Stops retrying requests that are not acknowledged yet."""
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def addresses(self, number):
        count = 3 if number % 7 == 0 else 1
        return [f"{self.name}{number}.{index}@example.com" for index in range(count)]

    def by_email(self, number):
        return number % 10 != 9

    def run(self):
        clients = [Client(one) for one in self.fixtures]
        while not self.fault and not self.stopping.is_set():
            with self.lock:
                number = next(self.numbers, None)
            if number is None:
                break
            self.post(clients[number % len(clients)], number)
        for client in clients:
            client.close()

    def post(self, client, number):
        path = SEND if self.by_email(number) else URLS
        body = gift_request(*self.addresses(number), by_email=self.by_email(number))
        headers = {"Idempotency-Key": f"{self.name}-{number}"}
        while not self.fault and not self.stopping.is_set():
            try:
                response = client.post(path, body, headers=headers)
            except NO_RESPONSE:
                with self.lock:
                    self.without_response += 1
                self.stopping.wait(MOMENT_SECONDS)
                continue
            if response.status in (200, 201):
                self.acknowledged[number] = response.json()["data"]
                return
            if response.status == 408:  # the daemon stopped while it read this request, and stored nothing
                self.stopping.wait(MOMENT_SECONDS)
                continue
            with self.lock:
                self.refused[response.status] = self.refused.get(response.status, 0) + 1
                if "Retry-After" not in response.headers:
                    self.retry_after_missing += 1
            if response.status not in (409, 503):
                self.fault = f"gift {number}: {response}"
            self.stopping.wait(MOMENT_SECONDS)

    def mailed_addresses(self, numbers=None):
        numbers = range(self.count) if numbers is None else numbers
        return [address for number in numbers if self.by_email(number) for address in self.addresses(number)]

    def mails_expected(self):
        return len(self.mailed_addresses())


def skip_backoff(fixture, states=("queued",)):
    """Ends the delivery pause and makes the outbox rows in these states due now."""
    listed = ", ".join(f"'{state}'" for state in states)
    fixture.query("UPDATE mail_breaker SET until = 0")
    fixture.query(f"UPDATE mail_outbox SET next_attempt_at = 0 WHERE state IN ({listed}) AND next_attempt_at > 0 AND lease_owner = ''")


def wait_until_idle(fixture, seconds=300):
    """Waits until the mail outbox and the CRM outbox have nothing queued."""
    def idle():
        status = fixture.status()
        mail = status["mail"]
        return mail["queued"] == 0 and mail["sending"] == 0 and status["sync"]["queued"] == 0

    daemon_fixture.wait_until(idle, "empty queues", seconds, pace_seconds=0.3)


def check_stored_once(test, fixture, load):
    """Every acknowledged request is stored once with all its recipients, and each recipient has one gift record."""
    rows = [(int(number), int(request), email) for number, request, email in fixture.query(
        f"SELECT id, request_id, email FROM recipient_transaction WHERE email LIKE '{load.name}%'")]
    by_request = {}
    for number, request, email in rows:
        by_request.setdefault(request, set()).add((number, email))
    for number, data in load.acknowledged.items():
        reported = {(one["recipient_transaction_id"], one["email"]) for one in data["recipients"]}
        test.assertEqual(by_request.get(data["id"]), reported, f"request {number}")
        test.assertEqual(sorted(email for _, email in reported), load.addresses(number))
    addresses = [email for _, _, email in rows]
    test.assertEqual(len(addresses), len(set(addresses)), "a gift exists twice")

    records = [record for record in fixture.gift_records() if record["Recipient_Email"].startswith(load.name)]
    test.assertEqual(sorted((record["RecipientTransactionId"], record["Recipient_Email"]) for record in records),
                     sorted((number, email) for number, _, email in rows))
    return rows


def check_mailed_once(test, load, mails, repeated):
    """Every gift by e-mail arrived exactly once."""
    test.assertEqual(repeated, [])
    arrived = [mail.to for mail in mails if mail.to.startswith(load.name)]
    test.assertEqual(len(arrived), len(set(arrived)))
    test.assertEqual(set(load.mailed_addresses(load.acknowledged)) - set(arrived), set(), "mails are missing")
