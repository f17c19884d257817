"""One giftsync house for a test: a temporary folder with settings and a store, its daemon, and giftsyncctl.

GIFTSYNCD and GIFTSYNCCTL name the programs (CTest sets them; else build/dev/bin is taken). Nothing here sleeps for a
while and hopes: everything waits for a condition, with a deadline that is generous because build machines are busy.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build" / "dev" / "bin"
GIFTSYNCD = os.environ.get("GIFTSYNCD", str(PROGRAMS / "giftsyncd"))
GIFTSYNCCTL = os.environ.get("GIFTSYNCCTL", str(PROGRAMS / "giftsyncctl"))

PATIENCE_SECONDS = 60
SKIPPED = 77
SENDER = "ana@example.com"
ITEMS = """\
gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee
7,Coffee,A cup of it,5.00,0.00,0.10,0.40
8,Mug,To drink it from,12.30,4.95,0.25,1.00
"""
# What a sanitizer, or the C++ library, says of a bug.
CRASH_WORDS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:", "terminate called", "Assertion")


def wait_until(condition, what, seconds=PATIENCE_SECONDS, pace_seconds=0.02):
    """The first true value of `condition()`; fails the test when none came in time. A condition that starts a program
    needs a slower pace, or it takes the processor from what it waits for."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s in vain for {what}")
        time.sleep(pace_seconds)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class House:
    """Settings, store and outbox in one folder; at most one daemon at a time."""

    def __init__(self, store=None, email=None, more="", folder=None, name="giftsyncd", port=None):
        """`store` and `email` take the place of these sections; `more` is further YAML. A house in a given `folder`
        shares it, and with it the server secret, with the house that owns it."""
        self.owns_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="giftsync-system."))
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.store = store or {"backend": "sqlite", "connection": "giftsync.db"}
        self.email = {"transport": "file", "directory": "outbox", "from": "gifts@example.com"} if email is None else email
        self.settings = self.folder / f"{name}.yaml"
        self.log_path = self.folder / f"{name}.log"
        self.outbox = self.folder / "outbox"
        self.daemon = None
        self.key = None
        self.write_settings(more)

    def write_settings(self, more=""):
        """JSON is YAML: the sections are written as flow mappings."""
        self.settings.write_text(
            f'server: {{ listen: "127.0.0.1:{self.port}", base_url: "{self.url}", admin_url: "{self.url}" }}\n'
            f"store:  {json.dumps(self.store)}\n"
            "crm:    { type: sql }\n"
            f"email:  {json.dumps(self.email)}\n" + more, encoding="utf-8")

    # ---- giftsyncctl --------------------------------------------------------------------------------------------
    def ctl(self, *arguments, expect=0):
        """Runs giftsyncctl and returns what it printed; any other exit code than `expect` fails the test."""
        ended = self.try_ctl(*arguments)
        if ended.returncode != expect:
            raise AssertionError(f"giftsyncctl {' '.join(arguments)} ended with {ended.returncode}, not {expect}:\n"
                                 f"{ended.stdout}{ended.stderr}")
        return ended.stdout

    def try_ctl(self, *arguments):
        return subprocess.run([GIFTSYNCCTL, "--config", str(self.settings), *arguments], capture_output=True, text=True,
                              timeout=PATIENCE_SECONDS, check=False)

    def ctl_json(self, *arguments):
        return json.loads(self.ctl(*arguments, "--json"))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def furnish(self, items=ITEMS):
        """A catalogue, an account and its key."""
        self.ctl("item", "import", self.write("items.csv", items))
        self.ctl("account", "create", "--email", SENDER, "--name", "Ana Lima", "--plan", "team")
        self.key = self.new_key(SENDER)
        return self

    def new_key(self, account, *more):
        return self.ctl("key", "create", "--account", account, *more).strip()

    def gift_records(self):
        return self.ctl_json("gift", "list")

    def status(self):
        return self.ctl_json("status")

    def query(self, sql):
        """Rows of the store itself, for what no command lists as a whole."""
        if self.store["backend"] == "postgresql":
            return self.psql(sql)
        with contextlib.closing(sqlite3.connect(self.folder / self.store["connection"], timeout=30)) as store, store:
            return store.execute(sql).fetchall()

    def psql(self, sql):
        program = os.path.join(os.environ["GIFTSYNC_TEST_PG_BIN"], "psql")
        ended = subprocess.run([program, "-X", "-q", "-t", "-A", "-F", "\x1f", "-R", "\x1e", "-v", "ON_ERROR_STOP=1", "-f", "-",
                                self.store["connection"]], input=sql, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                               check=True)
        text = ended.stdout.rstrip("\n")
        return [tuple(row.split("\x1f")) for row in text.split("\x1e")] if text else []

    # ---- The daemon ---------------------------------------------------------------------------------------------
    def start(self, environment=None, wait=True):
        assert self.daemon is None, "one daemon at a time"
        with open(self.log_path, "ab") as log:
            self.daemon = subprocess.Popen([GIFTSYNCD, "--config", str(self.settings)], stdout=log, stderr=log,
                                           stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        if wait:
            self.wait_ready()
        return self

    def is_ready(self):
        code = self.daemon.poll()
        if code is not None:
            raise AssertionError(f"the daemon ended with {code} instead of becoming ready:\n{self.log()}")
        request = b"GET /-/ready HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(request)
                return connection.recv(4096).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def wait_ready(self, seconds=PATIENCE_SECONDS):
        wait_until(self.is_ready, "the daemon to be ready", seconds)

    def signal(self, number):
        self.daemon.send_signal(number)

    def wait_end(self, seconds=PATIENCE_SECONDS):
        """The exit code (negative: the signal that ended it)."""
        code = self.daemon.wait(seconds)
        self.daemon = None
        return code

    def stop(self):
        """In good order."""
        self.signal(signal.SIGTERM)
        code = self.wait_end()
        if code != 0:
            raise AssertionError(f"the daemon stopped with {code}:\n{self.log()}")

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait_end()

    def restart(self):
        self.stop()
        self.start()

    def resident_kilobytes(self):
        text = pathlib.Path(f"/proc/{self.daemon.pid}/status").read_text(encoding="ascii")
        return int(next(line.split()[1] for line in text.splitlines() if line.startswith("VmRSS:")))

    def log(self, lines=60):
        if not self.log_path.exists():
            return ""
        return "\n".join(self.log_path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def whole_log(self):
        return self.log(10**9)

    def close(self):
        """Ends the daemon and removes the folder. A daemon that is still there must be well and stop in good order."""
        try:
            if self.daemon is not None:
                if self.daemon.poll() is None:
                    self.signal(signal.SIGCONT)
                self.stop()
            found = [word for word in CRASH_WORDS if word in self.whole_log()]
            if found:
                raise AssertionError(f"the daemon's log has {found}:\n{self.log(200)}")
        finally:
            if self.daemon is not None:
                self.kill()
            if self.owns_folder and not os.environ.get("KEEP"):
                shutil.rmtree(self.folder, ignore_errors=True)


class HouseTest(unittest.TestCase):
    """Houses are closed after the test, or after the last one of the class, and their logs are shown when it fails."""

    house = None

    @classmethod
    def share_house(cls, **named):
        """For setUpClass: one running house for all tests of the class, as `self.house`."""
        cls.house = House(**named)
        cls.addClassCleanup(cls.house.close)
        cls.house.furnish().start()

    def new_house(self, *arguments, **named):
        house = House(*arguments, **named)
        self.addCleanup(house.close)
        self.addCleanup(self.show_log_of_failed, house)
        return house

    def tearDown(self):
        if type(self).house is not None:
            self.show_log_of_failed(self.house)

    def show_log_of_failed(self, house):
        outcome = self._outcome.result
        if any(test is self for test, _ in outcome.failures + outcome.errors):
            print(f"--- {house.log_path}\n{house.log()}", file=sys.stderr)


def store_settings(back_end):
    """The store section for "sqlite", or for an empty schema of the PostgreSQL that scripts/with-postgresql started."""
    if back_end == "sqlite":
        return {"backend": "sqlite", "connection": "giftsync.db"}
    connection = os.environ.get("GIFTSYNC_TEST_PG")
    if not connection:
        raise unittest.SkipTest("GIFTSYNC_TEST_PG is not set: run scripts/with-postgresql")
    return {"backend": "postgresql", "connection": new_database(connection)}


def new_database(connection):
    """A fresh database on that server, as a connection string."""
    name = f"house_{os.getpid()}_{time.monotonic_ns()}"
    program = os.path.join(os.environ["GIFTSYNC_TEST_PG_BIN"], "psql")
    subprocess.run([program, "-X", "-q", "-c", f"CREATE DATABASE {name}", connection], check=True, timeout=PATIENCE_SECONDS,
                   capture_output=True)
    parts = [part for part in connection.split() if not part.startswith("dbname=")]
    return " ".join(parts + [f"dbname={name}"])


def main():
    """Runs the tests of the calling program; exit code 77 when every one was skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    if result.wasSuccessful() and result.skipped and result.testsRun <= len(result.skipped):
        sys.exit(SKIPPED)
    sys.exit(not result.wasSuccessful())
