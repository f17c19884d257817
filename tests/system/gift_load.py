"""Gifts posted by many clients at once until each is acknowledged, and what must be true of a house afterwards."""
import threading

import house
from http_client import NO_ANSWER, SEND, URLS, Client, gift_request

CLIENTS = 32
MOMENT_SECONDS = 0.1


class GiftLoad:
    """Posts `count` gift requests, each under an Idempotency-Key of its own, again and again until it is acknowledged.

    Every seventh has three recipients, every tenth only asks for URLs. Request n goes to houses[n % len(houses)].
    """

    def __init__(self, *houses, count, name="gift", clients=CLIENTS):
        self.houses, self.count, self.name = houses, count, name
        self.acknowledged = {}  # number -> data of its answer
        self.unanswered = 0
        self.refused = {}       # status -> how often; only 409 and 503 are tried again
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
        """Waits for a condition; an answer that no caller should get ends the wait at once."""
        house.wait_until(lambda: self.fault or condition(), what, seconds)
        if self.fault:
            raise AssertionError(self.fault)

    def wait_acknowledged(self, goal):
        self.wait_for(lambda: len(self.acknowledged) >= goal, f"{goal} acknowledged gifts")

    def wait_refused(self, more):
        """Until 503 was the answer so many more times, or the load was through before anybody could refuse it."""
        goal = self.refused.get(503, 0) + more
        self.wait_for(lambda: self.refused.get(503, 0) >= goal or not any(thread.is_alive() for thread in self.threads),
                      f"{goal} answers with 503")

    def join(self, seconds=600):
        """Waits until all are acknowledged."""
        self.wait_for(lambda: not any(thread.is_alive() for thread in self.threads), "all gifts", seconds)

    def stop(self):
        """Gives up what is not acknowledged yet."""
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def addresses(self, number):
        count = 3 if number % 7 == 0 else 1
        return [f"{self.name}{number}.{place}@example.com" for place in range(count)]

    def by_email(self, number):
        return number % 10 != 9

    def run(self):
        clients = [Client(one) for one in self.houses]
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
                answer = client.post(path, body, headers=headers)
            except NO_ANSWER:
                with self.lock:
                    self.unanswered += 1
                self.stopping.wait(MOMENT_SECONDS)
                continue
            if answer.status in (200, 201):
                self.acknowledged[number] = answer.json()["data"]
                return
            if answer.status == 408:  # the daemon was stopped while it read this, and took nothing
                self.stopping.wait(MOMENT_SECONDS)
                continue
            with self.lock:
                self.refused[answer.status] = self.refused.get(answer.status, 0) + 1
                if "Retry-After" not in answer.headers:
                    self.retry_after_missing += 1
            if answer.status not in (409, 503):
                self.fault = f"gift {number}: {answer}"
            self.stopping.wait(MOMENT_SECONDS)

    def mailed_addresses(self, numbers=None):
        numbers = range(self.count) if numbers is None else numbers
        return [address for number in numbers if self.by_email(number) for address in self.addresses(number)]

    def mails_expected(self):
        return len(self.mailed_addresses())


def let_waits_pass(given, states=("queued",)):
    """Makes the outbox due as if its waiting times were over: the pause, and rows in these states."""
    words = ", ".join(f"'{state}'" for state in states)
    given.query("UPDATE delivery_pause SET until = 0")
    given.query(f"UPDATE delivery SET due_at = 0 WHERE state IN ({words}) AND due_at > 0 AND lease_owner = ''")


def at_rest(given, seconds=300):
    """Waits until nothing is queued any more and the CRM knows everything."""
    def idle():
        status = given.status()
        mail = status["mail"]
        return mail["queued"] == 0 and mail["sending"] == 0 and status["sync"]["waiting"] == 0

    house.wait_until(idle, "outbox and sync to come to rest", seconds, pace_seconds=0.3)


def check_stored_once(test, given, load):
    """Every acknowledged request exists exactly once with all its recipients, and each of these has one gift record."""
    rows = [(int(number), int(request), email) for number, request, email in given.query(
        f"SELECT id, request_id, email FROM recipient_transaction WHERE email LIKE '{load.name}%'")]
    by_request = {}
    for number, request, email in rows:
        by_request.setdefault(request, set()).add((number, email))
    for number, data in load.acknowledged.items():
        told = {(one["recipient_transaction_id"], one["email"]) for one in data["recipients"]}
        test.assertEqual(by_request.get(data["id"]), told, f"request {number}")
        test.assertEqual(sorted(email for _, email in told), load.addresses(number))
    addresses = [email for _, _, email in rows]
    test.assertEqual(len(addresses), len(set(addresses)), "a gift exists twice")

    records = [record for record in given.gift_records() if record["Recipient_Email"].startswith(load.name)]
    test.assertEqual(sorted((record["RecipientTransactionId"], record["Recipient_Email"]) for record in records),
                     sorted((number, email) for number, _, email in rows))
    return rows


def check_mailed_once(test, load, mails, repeated):
    """Every gift by e-mail arrived, none twice."""
    test.assertEqual(repeated, [])
    arrived = [mail.to for mail in mails if mail.to.startswith(load.name)]
    test.assertEqual(len(arrived), len(set(arrived)))
    test.assertEqual(set(load.mailed_addresses(load.acknowledged)) - set(arrived), set(), "mails are missing")
