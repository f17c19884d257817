#!/usr/bin/python3
"""A real SMTP server for tests (python3-aiosmtpd) that stores accepted mails and applies faults on request.

It prints its port on stdout as soon as it listens, and runs until SIGTERM. Every accepted mail is stored as
<directory>/<number>.eml and recorded in <directory>/journal.ndjson, one JSON object a line: time, message_id, from, to,
sha256, path. Both are fsynced before the sender gets its 250. <directory>/phases.ndjson gets a line for each phase
of each connection (see below) as it is reached, so that a test can wait for one; one that was delayed gets another as
"data delayed".

Behaviour is switched at run time by the file given with --mode (absent or empty: no faults). It is read again at
every phase; replace it by rename. It maps a phase to an action:

  {"rcpt:bob@example.com": "550 5.1.1 no such user", "message": {"do": "reset", "times": 1}}

Phases: connect, ehlo, ehlo:<name>, starttls, auth, noop, mail, rcpt, rcpt:<address>, data (the command), message (the final dot),
quit.
Actions: a reply ("450 4.2.0 later"; "421 ..." also closes the connection), or
  reset       break the connection (TCP RST); at `message` the mail is not kept
  close       close it cleanly, without a reply
  silent      never answer
  keep-reset  only at `message`: keep the mail, then break the connection instead of answering
  ok          no fault; useful with delay_seconds
An action may be an object: {"do": ACTION, "times": N, "one_in": N, "delay_seconds": S}. `times`: only the first N times
since the mode file changed. `one_in`: by chance (--seed). `delay_seconds`: wait that long first. {"delay_seconds": S}
at the top delays every reply by S: a tar pit.
"""
import argparse
import asyncio
import email
import hashlib
import json
import logging
import os
import random
import signal
import socket
import ssl
import struct
import sys
import time
import warnings

from aiosmtpd.smtp import SMTP, AuthResult


class Mode:
    """The mode file, and how often each of its actions was applied since it changed."""

    def __init__(self, path, seed):
        self.path = path
        self.random = random.Random(seed)
        self.text = ""
        self.actions = {}
        self.used = {}

    def reread(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                text = file.read()
        except (FileNotFoundError, TypeError):
            text = ""
        if text != self.text:
            self.text, self.used = text, {}
            self.actions = json.loads(text) if text.strip() else {}

    def action(self, *phases):
        """The action of the first of `phases` that has one, and the seconds to wait before it."""
        self.reread()
        delay = self.actions.get("delay_seconds", 0)
        for phase in phases:
            if phase not in self.actions:
                continue
            action = self.actions[phase]
            if isinstance(action, str):
                return action, delay
            if self.is_due(phase, action):
                return action.get("do", "ok"), delay + action.get("delay_seconds", 0)
        return "ok", delay

    def is_due(self, phase, action):
        if self.used.get(phase, 0) >= action.get("times", float("inf")):
            return False
        if self.random.randrange(action.get("one_in", 1)) != 0:
            return False
        self.used[phase] = self.used.get(phase, 0) + 1
        return True


class Mailbox:
    """Stores the accepted mails durably."""

    def __init__(self, directory):
        directory = os.path.abspath(directory)
        os.makedirs(directory, exist_ok=True)
        self.directory = directory
        self.journal = open(os.path.join(directory, "journal.ndjson"), "a", encoding="utf-8")
        self.phases = open(os.path.join(directory, "phases.ndjson"), "a", encoding="utf-8")
        self.count = sum(name.endswith(".eml") for name in os.listdir(directory))

    def store(self, envelope):
        content = envelope.original_content
        self.count += 1
        path = os.path.join(self.directory, f"{self.count}.eml")
        with open(path, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        message_id = email.message_from_bytes(content)["Message-ID"] or ""
        self.journal.write(json.dumps({
            "time": time.time(), "message_id": message_id.strip("<> \r\n"), "from": envelope.mail_from,
            "to": envelope.rcpt_tos, "sha256": hashlib.sha256(content).hexdigest(), "path": path}) + "\n")
        self.journal.flush()
        os.fsync(self.journal.fileno())

    def log_phase(self, connection, phase):
        self.phases.write(json.dumps({"connection": connection, "phase": phase}) + "\n")
        self.phases.flush()


class DataHandler:
    """What aiosmtpd calls when a mail is complete."""

    def __init__(self, server):
        self.server = server

    async def handle_DATA(self, _server, _session, envelope):
        return await self.server.final_dot(envelope)


class Server(SMTP):
    """One connection."""

    connections = 0

    def __init__(self, mode, mailbox, **options):
        self.mode, self.mailbox = mode, mailbox
        super().__init__(handler=DataHandler(self), enable_SMTPUTF8=True, hostname="relay.test", ident="test relay", **options)
        Server.connections += 1
        self.number = Server.connections

    async def apply_fault(self, *phases):
        """Applies the action of this phase. True: the reply was sent, or must never be sent."""
        self.mailbox.log_phase(self.number, phases[-1])
        action, delay = self.mode.action(*phases)
        if delay:
            await asyncio.sleep(delay)
            self.mailbox.log_phase(self.number, phases[-1] + " delayed")
        if action == "ok":
            return False
        if action in ("reset", "keep-reset"):
            self.reset()
        elif action == "close":
            self.transport.close()
        elif action == "silent":
            await asyncio.sleep(86400)
        else:
            await self.push(action)
            if action.startswith("421"):
                self.transport.close()
        return True

    def reset(self):
        raw = self.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        (self._original_transport or self.transport).abort()

    async def _handle_client(self):
        if not await self.apply_fault("connect"):
            await super()._handle_client()

    async def smtp_EHLO(self, hostname):
        if not await self.apply_fault(f"ehlo:{hostname}", "ehlo"):
            await super().smtp_EHLO(hostname)

    async def smtp_STARTTLS(self, arg):
        if not await self.apply_fault("starttls"):
            await super().smtp_STARTTLS(arg)

    async def smtp_AUTH(self, arg):
        if not await self.apply_fault("auth"):
            await super().smtp_AUTH(arg)

    async def smtp_NOOP(self, arg):
        if not await self.apply_fault("noop"):
            await super().smtp_NOOP(arg)

    async def smtp_QUIT(self, arg):
        if not await self.apply_fault("quit"):
            await super().smtp_QUIT(arg)

    async def smtp_MAIL(self, arg):
        if not await self.apply_fault("mail"):
            await super().smtp_MAIL(arg)

    async def smtp_RCPT(self, arg):
        address = arg.partition("<")[2].partition(">")[0]
        if not await self.apply_fault(f"rcpt:{address}", "rcpt"):
            await super().smtp_RCPT(arg)

    async def smtp_DATA(self, arg):
        if not await self.apply_fault("data"):
            await super().smtp_DATA(arg)

    async def final_dot(self, envelope):
        """Stores the mail unless a fault forbids it; returns the reply."""
        self.mailbox.log_phase(self.number, "message")
        action, delay = self.mode.action("message")
        if delay:
            await asyncio.sleep(delay)
        if action in ("ok", "keep-reset"):
            self.mailbox.store(envelope)
        if action == "ok":
            return f"250 2.0.0 kept as {self.mailbox.count}"
        if action in ("reset", "keep-reset", "close"):
            self.reset() if action != "close" else self.transport.close()
            await asyncio.sleep(86400)
        if action == "silent":
            await asyncio.sleep(86400)
        if action.startswith("421"):
            self.loop.call_soon(self.transport.close)
        return action


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", required=True, help="where mails, journal and phases go; made when missing")
    parser.add_argument("--port", type=int, default=0, help="0 (default): any free port")
    parser.add_argument("--mode", help="the mode file")
    parser.add_argument("--seed", type=int, default=1, help="of the chance in one_in")
    parser.add_argument("--cert", help="PEM certificate: offer STARTTLS")
    parser.add_argument("--key", help="its PEM key")
    parser.add_argument("--implicit-tls", action="store_true", help="speak TLS from the first byte (smtps)")
    parser.add_argument("--require-tls", action="store_true", help="refuse mails without TLS")
    parser.add_argument("--user", help="offer AUTH and require it, with this name")
    parser.add_argument("--password-file", help="the file that holds the password of --user")
    parser.add_argument("--auth-without-tls", action="store_true", help="offer AUTH on plain connections too")
    return parser.parse_args()


def protocol_options(arguments, tls):
    options = {"tls_context": None if arguments.implicit_tls else tls,
               "require_starttls": arguments.require_tls and not arguments.implicit_tls}
    if arguments.user:
        with open(arguments.password_file, encoding="utf-8") as file:
            expected = (arguments.user.encode(), file.read().rstrip("\n").encode())
        options.update(
            auth_required=True,
            auth_require_tls=not (arguments.auth_without_tls or arguments.implicit_tls),
            authenticator=lambda _server, _session, _envelope, _mechanism, given: AuthResult(
                success=(given.login, given.password) == expected, handled=False))
    return options


async def serve(arguments):
    tls = None
    if arguments.cert:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(arguments.cert, arguments.key)
    mode, mailbox = Mode(arguments.mode, arguments.seed), Mailbox(arguments.directory)
    options = protocol_options(arguments, tls)
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    server = await loop.create_server(lambda: Server(mode, mailbox, loop=loop, **options), "127.0.0.1",
                                      arguments.port, ssl=tls if arguments.implicit_tls else None)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stopped.wait()
    server.close()


if __name__ == "__main__":
    # Broken connections and weak settings are intended here.
    logging.getLogger("mail.log").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    asyncio.run(serve(parse_arguments()))
    sys.exit(0)
