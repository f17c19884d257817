"""smtp_server.py as a mail relay for daemon fixtures: STARTTLS, a login, faults on request, and its journal."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import daemon_fixture

SERVER = pathlib.Path(__file__).with_name("smtp_server.py")
USER, PASSWORD = "gifts", "correct horse battery staple"


class SmtpRelay:
    """Runs until stop(); start() brings it back on the same port."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="giftsync-relay."))
        self.certificate = self.folder / "certificate.pem"
        self.mode_file = self.folder / "mode.json"
        self.port = 0
        self.process = None
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", self.folder / "key.pem", "-out", self.certificate],
                       check=True, capture_output=True, timeout=daemon_fixture.TIMEOUT_SECONDS)
        self.set_password(PASSWORD)
        self.start()

    def set_password(self, password):
        """The expected password, from the next start on."""
        (self.folder / "password").write_text(password + "\n", encoding="utf-8")

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, SERVER, "--directory", self.folder / "mails", "--mode", self.mode_file, "--port", str(self.port),
             "--cert", self.certificate, "--key", self.folder / "key.pem", "--require-tls", "--user", USER,
             "--password-file", self.folder / "password"], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("smtp_server.py did not start (is python3-aiosmtpd installed?)")
        self.port = int(line)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(daemon_fixture.TIMEOUT_SECONDS)
            self.process.stdout.close()
            self.process = None

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def behave(self, **actions):
        """Sets the faults from now on; no actions: no faults. `rcpt_bob@...` stands for the phase rcpt:bob@..."""
        self.behave_as({name.replace("rcpt_", "rcpt:", 1): action for name, action in actions.items()})

    def behave_as(self, actions):
        temporary = self.mode_file.with_suffix(".new")
        temporary.write_text(json.dumps(actions), encoding="utf-8")
        temporary.rename(self.mode_file)

    def settings(self, folder, password=PASSWORD, connections=None):
        """The email section of a fixture in `folder`; without `connections` with the default number."""
        secret = folder / "relay-password"
        secret.write_text(password, encoding="utf-8")
        secret.chmod(0o600)
        return {"transport": "smtp", "from": "gifts@example.com",
                "smtp": {"url": f"smtp://127.0.0.1:{self.port}", "username": USER, "password": "file:relay-password",
                         "ca_file": str(self.certificate), **({"connections": connections} if connections else {})}}

    def journal(self):
        """The accepted mails in order, without a line that is being written."""
        text = (self.folder / "mails" / "journal.ndjson").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def phases(self):
        """The phases that its connections reached, in order."""
        return [entry["phase"] for entry in self.phase_entries()]

    def phase_entries(self):
        """The same, each with the number of its connection."""
        text = (self.folder / "mails" / "phases.ndjson").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def arrivals(self):
        """Address -> the Message-IDs under which mails to it were accepted."""
        found = {}
        for entry in self.journal():
            found.setdefault(entry["to"][0], []).append(entry["message_id"])
        return found
