"""Decoded gift mails, and a collector that removes finished mails from an outbox."""
import email
import email.policy
import os
import pathlib
import re
import threading

LINK = re.compile(r"http://[^\s\"<>]+/g/[A-Za-z0-9_-]+")


class Mail:
    """One .eml file, decoded."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.bytes = self.path.read_bytes()
        message = email.message_from_bytes(self.bytes, policy=email.policy.default)
        self.headers = message
        self.to = message["To"].addresses[0].addr_spec
        self.message_id = message["Message-ID"].strip("<> ")
        self.subject = message["Subject"]
        self.text = message.get_body(("plain",)).get_content().replace("\r\n", "\n")
        self.html = message.get_body(("html",)).get_content().replace("\r\n", "\n")
        self.links = LINK.findall(self.text)
        self.defects = [defect for part in message.walk() for defect in part.defects]


def mails_in(folder):
    folder = pathlib.Path(folder)
    return [Mail(path) for path in sorted(folder.glob("*.eml"))] if folder.exists() else []


class Collector:
    """Removes finished mails as they appear, so that a second copy counts as a second arrival."""

    def __init__(self, outbox):
        self.outbox = pathlib.Path(outbox)
        self.collected = self.outbox.parent / "collected"
        self.collected.mkdir()
        self.arrivals = {}
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopping.wait(0.01):
            self.collect()

    def collect(self):
        try:
            names = os.listdir(self.outbox)
        except FileNotFoundError:
            return
        for name in names:
            if not name.endswith(".eml"):
                continue
            count = self.arrivals.get(name, 0) + 1
            os.rename(self.outbox / name, self.collected / f"{name[:-4]}.{count}.eml")
            self.arrivals[name] = count

    def finish(self):
        """The mails in order of their Message-IDs, with those that arrived more than once."""
        self.stopping.set()
        self.thread.join()
        self.collect()
        return mails_in(self.collected), sorted(name for name, count in self.arrivals.items() if count > 1)
