"""A daemon fixture for system tests: a temporary folder with settings and a store, its daemon, and giftsyncctl.

GIFTSYNCD and GIFTSYNCCTL name the programs (CTest sets them; default: build/dev/bin). Tests wait for conditions with generous
deadlines, and never sleep for a fixed time.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

from certificates import install_pair, make_pair

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build" / "dev" / "bin"
GIFTSYNCD = os.environ.get("GIFTSYNCD", str(PROGRAMS / "giftsyncd"))
GIFTSYNCCTL = os.environ.get("GIFTSYNCCTL", str(PROGRAMS / "giftsyncctl"))

TIMEOUT_SECONDS = 60
SKIPPED = 77
# Every daemon speaks TLS, for tests that run over it once more.
OVER_TLS = bool(os.environ.get("OVER_TLS"))
SENDER = "ana@example.com"
ITEMS = """\
gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee
7,Coffee,A cup of it,5.00,0.00,0.10,0.40
8,Mug,To drink it from,12.30,4.95,0.25,1.00
"""
# A sanitizer keeps freed memory and shadows all of it: the numbers say nothing about the daemon's own memory.
IS_SANITIZED = subprocess.run(["grep", "-q", "__asan_init", GIFTSYNCD], check=False).returncode == 0
# Output of a sanitizer or of the C++ library that means a bug.
CRASH_MARKERS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:", "terminate called", "Assertion")


def wait_until(condition, what, seconds=TIMEOUT_SECONDS, pace_seconds=0.02):
    """The first true value of `condition()`; fails the test after the deadline. A condition that starts a program needs a slower
    pace, so that it does not slow down the daemon."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out after {seconds} s waiting for {what}")
        time.sleep(pace_seconds)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class DaemonFixture:
    """Settings, store and outbox in one folder; at most one daemon at a time."""

    made = {}  # name and settings -> content and mode of the store's file, what make() returned

    def __init__(self, store=None, email=None, more="", folder=None, name="giftsyncd", port=None, crm=None, tls=OVER_TLS):
        """`store`, `email` and `crm` replace these sections of the settings; `more` is further YAML. A fixture with a given `folder` shares
        the folder and its server secret with the fixture that owns it."""
        self.owns_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="giftsync-system."))
        self.port = port or free_port()
        self.tls = tls
        if tls:
            install_pair(self.folder, make_pair())
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.store = store or {"backend": "sqlite", "connection": "giftsync.db"}
        self.email = {"transport": "file", "directory": "outbox", "from": "gifts@example.com"} if email is None else email
        self.crm = "{ type: sql }" if crm is None else json.dumps(crm)
        self.settings = self.folder / f"{name}.yaml"
        self.log_path = self.folder / f"{name}.log"
        self.outbox = self.folder / "outbox"
        self.daemon = None
        self.programs = (GIFTSYNCD, GIFTSYNCCTL)  # an older version's, for tests of an upgrade
        self.key = None
        self.write_settings(more)

    def write_settings(self, more=""):
        """JSON is YAML: the sections are written as flow mappings."""
        tls = ", tls: { certificate: tls.pem, key: tls.key }" if self.tls else ""
        self.settings.write_text(
            f'server: {{ listen: "127.0.0.1:{self.port}", base_url: "{self.url}", admin_url: "{self.url}"{tls} }}\n'
            f"store:  {json.dumps(self.store)}\n"
            f"crm:    {self.crm}\n"
            f"email:  {json.dumps(self.email)}\n" + more, encoding="utf-8")

    # ---- giftsyncctl --------------------------------------------------------------------------------------------
    def ctl(self, *arguments, expect=0):
        """Runs giftsyncctl and returns its standard output; any other exit code than `expect` fails the test."""
        ended = self.try_ctl(*arguments)
        if ended.returncode != expect:
            raise AssertionError(f"giftsyncctl {' '.join(arguments)} ended with {ended.returncode}, not {expect}:\n"
                                 f"{ended.stdout}{ended.stderr}")
        return ended.stdout

    def try_ctl(self, *arguments):
        return subprocess.run([self.programs[1], "--config", str(self.settings), *arguments], capture_output=True, text=True,
                              timeout=TIMEOUT_SECONDS, check=False)

    def ctl_json(self, *arguments):
        return json.loads(self.ctl(*arguments, "--json"))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def make_once(self, make, name):
        """Fills a new store by make(), and returns what that returns. A test program does so once for each name and settings: where the
        store is SQLite's and the CRM in it, later fixtures get a copy of the file, which no daemon has seen. Under a sanitizer each
        command takes up to a second."""
        file = self.folder / "giftsync.db"
        settings = self.settings.read_text(encoding="utf-8")
        same = (name, re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", settings))
        is_new = self.store["backend"] == "sqlite" and "crm:    { type: sql }\n" in settings and not file.exists()
        if is_new and same in self.made:
            content, mode, returned = self.made[same]
            file.write_bytes(content)
            file.chmod(mode)
            return returned
        returned = make()
        if is_new and not list(self.folder.glob("giftsync.db-*")):
            self.made[same] = (file.read_bytes(), file.stat().st_mode & 0o777, returned)
        return returned

    def seed(self, items=ITEMS):
        """A catalogue, an account and its key."""
        catalogue = self.write("items.csv", items)

        def make():
            self.ctl("account", "create", "--email", SENDER, "--name", "Ana Lima", "--plan", "team")
            self.ctl("item", "import", catalogue)
            return self.new_key(SENDER)

        self.key = self.make_once(make, items)
        return self

    def new_key(self, account, *more):
        return self.ctl("key", "create", "--account", account, *more).strip()

    def gift_records(self):
        """Of the gifts that have one."""
        return [one for one in self.ctl_json("gift", "list") if one["has_record"]]

    def status(self):
        return json.loads(self.status_text("--json"))

    def status_text(self, *arguments):
        """Whatever its exit code says of daemon and admin."""
        ended = self.try_ctl("status", *arguments)
        if ended.returncode not in (0, 1, 69) or not ended.stdout:
            raise AssertionError(f"giftsyncctl status ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def query(self, sql):
        """Rows of the store, for data that no command lists."""
        if self.store["backend"] == "postgresql":
            return self.psql(sql)
        with contextlib.closing(sqlite3.connect(self.folder / self.store["connection"], timeout=30)) as store, store:
            return store.execute(sql).fetchall()

    def psql(self, sql):
        program = os.path.join(os.environ["GIFTSYNC_TEST_PG_BIN"], "psql")
        ended = subprocess.run([program, "-X", "-q", "-t", "-A", "-F", "\x1f", "-R", "\x1e", "-v", "ON_ERROR_STOP=1", "-f", "-",
                                self.store["connection"]], input=sql, capture_output=True, text=True, timeout=TIMEOUT_SECONDS,
                               check=True)
        text = ended.stdout.rstrip("\n")
        return [tuple(row.split("\x1f")) for row in text.split("\x1e")] if text else []

    # ---- The daemon ---------------------------------------------------------------------------------------------
    def start(self, environment=None, wait=True, manager=None, log=None):
        """`manager`: a ServiceManager, whose sockets it gets. `log`: its standard error instead of the fixture's log."""
        assert self.daemon is None, "one daemon at a time"
        command = [self.programs[0], "--config", str(self.settings)]
        launch, sockets = manager.launch() if manager else ({}, {})
        if manager:
            command = ["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", *command]
        with open(self.log_path, "ab") as own_log:
            self.daemon = subprocess.Popen(command, stdout=own_log, stderr=log or own_log, stdin=subprocess.DEVNULL,
                                           env={**os.environ, **sockets, **(environment or {})}, **launch)
        if wait:
            self.wait_ready()
        return self

    def is_ready(self):
        code = self.daemon.poll()
        if code is not None:
            raise AssertionError(f"the daemon ended with {code} instead of becoming ready:\n{self.log()}")
        request = b"GET /-/ready HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
        try:
            with self.connect(timeout=5) as connection:
                connection.sendall(request)
                return connection.recv(4096).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def connect(self, timeout=TIMEOUT_SECONDS):
        """A socket whose bytes go by TLS, if the daemon speaks it."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        if not self.tls:
            return plain
        try:
            return ssl._create_unverified_context().wrap_socket(plain)
        except BaseException:
            plain.close()
            raise

    def wait_ready(self, seconds=TIMEOUT_SECONDS):
        wait_until(self.is_ready, "the daemon to be ready", seconds)

    def signal(self, number):
        self.daemon.send_signal(number)

    def wait_end(self, seconds=TIMEOUT_SECONDS):
        """The exit code (negative: the signal that ended it)."""
        code = self.daemon.wait(seconds)
        self.daemon = None
        return code

    def takes_signals(self):
        """Whether a SIGTERM stops the daemon cleanly. It ignores SIGPIPE from then on, while SIGTERM is blocked or waited for. True of
        an ended daemon too."""
        if self.daemon.poll() is not None:
            return True
        status = pathlib.Path(f"/proc/{self.daemon.pid}/status").read_text(encoding="ascii")
        ignored = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:")), 16)
        return bool(ignored & 1 << signal.SIGPIPE - 1)

    def stop(self):
        """A clean stop by SIGTERM, also of a daemon that was started a moment ago."""
        wait_until(self.takes_signals, "the daemon to take signals")
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
        """Stops the daemon and removes the folder. A running daemon must stop with exit code 0."""
        try:
            if self.daemon is not None:
                if self.daemon.poll() is None:
                    self.signal(signal.SIGCONT)
                self.stop()
            found = [word for word in CRASH_MARKERS if word in self.whole_log()]
            if found:
                raise AssertionError(f"the daemon's log has {found}:\n{self.log(200)}")
        finally:
            if self.daemon is not None:
                self.kill()
            if self.owns_folder and not os.environ.get("KEEP"):
                shutil.rmtree(self.folder, ignore_errors=True)


class DaemonTestCase(unittest.TestCase):
    """Closes fixtures after the test, or after the last test of the class, and shows the log of a failed test."""

    fixture = None

    @classmethod
    def share_fixture(cls, **named):
        """For setUpClass: one running fixture for all tests of the class, as `self.fixture`."""
        cls.fixture = DaemonFixture(**named)
        cls.addClassCleanup(cls.fixture.close)
        cls.fixture.seed().start()

    def new_fixture(self, *arguments, **named):
        fixture = DaemonFixture(*arguments, **named)
        self.addCleanup(fixture.close)
        self.addCleanup(self.show_log_of_failed, fixture)
        return fixture

    def tearDown(self):
        if type(self).fixture is not None:
            self.show_log_of_failed(self.fixture)

    def show_log_of_failed(self, fixture):
        outcome = self._outcome.result
        if any(test is self for test, _ in outcome.failures + outcome.errors):
            print(f"--- {fixture.log_path}\n{fixture.log()}", file=sys.stderr)


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
    name = f"giftsync_test_{os.getpid()}_{time.monotonic_ns()}"
    program = os.path.join(os.environ["GIFTSYNC_TEST_PG_BIN"], "psql")
    subprocess.run([program, "-X", "-q", "-c", f"CREATE DATABASE {name}", connection], check=True, timeout=TIMEOUT_SECONDS,
                   capture_output=True)
    parts = [part for part in connection.split() if not part.startswith("dbname=")]
    return " ".join(parts + [f"dbname={name}"])


def main():
    """Runs the tests of the calling program; exit code 77 when all were skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    skipped = [test for test, _ in result.skipped if isinstance(test, unittest.TestCase)]  # the others are whole classes
    if result.wasSuccessful() and result.skipped and result.testsRun == len(skipped):
        sys.exit(SKIPPED)
    sys.exit(not result.wasSuccessful())
