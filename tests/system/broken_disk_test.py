#!/usr/bin/python3
"""A disk that becomes full or read-only under a running daemon, FAULTS (1) times, while GIFTS (200) requests come. Skipped where no file
system can be mounted."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import daemon_fixture
from gift_load import GiftLoad, wait_until_idle, check_mailed_once, check_stored_once, skip_backoff
from http_client import Client
from mails import Collector

GIFTS = int(os.environ.get("GIFTS", "200"))
FAULTS = int(os.environ.get("FAULTS", "1"))


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=daemon_fixture.TIMEOUT_SECONDS,
                          check=False)


class Disk:
    """A small file system, mounted in a temporary folder: in memory, or ext4 in an image."""

    def __init__(self, kind, megabytes):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="giftsync-disk."))
        self.mount = self.folder / "mount"
        self.mount.mkdir()
        mounted = self.mount_memory(megabytes) if kind == "memory" else self.mount_image(megabytes)
        if mounted.returncode != 0:
            shutil.rmtree(self.folder)
            raise unittest.SkipTest(f"no file system can be mounted here: {mounted.stderr.strip()}")

    def mount_memory(self, megabytes):
        return run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", self.mount)

    def mount_image(self, megabytes):
        image = self.folder / "image"
        with open(image, "wb") as file:
            file.truncate(megabytes << 20)
        made = run("mkfs.ext4", "-q", "-m", "0", image)
        return run("mount", "-o", "loop", image, self.mount) if made.returncode == 0 else made

    def fill(self):
        """Leaves no byte free."""
        with open(self.mount / "ballast", "wb", buffering=0) as ballast:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while ballast.write(b"x" * size):
                        pass
                except OSError:
                    continue

    def free_space(self):
        (self.mount / "ballast").unlink()

    def freeze(self, frozen=True):
        """Makes all files immutable, also those that are open. Only on ext4. SQLite's shared-memory index (-shm) stays writable:
        a failed write to a mapped page would kill the process."""
        files = [path for path in sorted(self.mount.rglob("*")) if not path.name.endswith("-shm")]
        changed = run("chattr", "+i" if frozen else "-i", *files)
        if changed.returncode != 0 and frozen:
            raise unittest.SkipTest(f"chattr +i: {changed.stderr.strip()}")

    def remount(self, option):
        changed = run("mount", "-o", f"remount,{option}", self.mount)
        assert changed.returncode == 0, changed.stderr

    def close(self):
        run("umount", "--lazy", self.mount)
        shutil.rmtree(self.folder, ignore_errors=True)


class BrokenDisk(daemon_fixture.DaemonTestCase):
    def new_fixture_on(self, kind, megabytes):
        disk = Disk(kind, megabytes)
        self.addCleanup(disk.close)
        folder = disk.mount / "giftsync"
        folder.mkdir()
        fixture = self.new_fixture(folder=folder)
        fixture.log_path = disk.folder / "giftsyncd.log"  # the log is not on the broken disk
        return fixture.seed(), disk

    def run_with_fault(self, fixture, inject_fault, clear_fault, log_pattern, times):
        """Sends gifts while the disk fails and recovers; no acknowledged gift is lost."""
        collector = Collector(fixture.outbox)
        fixture.start()
        process = fixture.daemon.pid
        loads, acknowledged = [], []
        for time in range(times):
            # The second half starts after the fault, so that some requests must be refused.
            loads.append(GiftLoad(fixture, count=GIFTS // 2, name=f"before{time}.", clients=16).start())
            loads[-1].wait_acknowledged(GIFTS // 4)
            inject_fault()
            try:
                loads.append(GiftLoad(fixture, count=GIFTS // 2, name=f"during{time}.", clients=16).start())
                loads[-1].wait_refused(20)
                acknowledged += self.check_outage(fixture, f"outage{time}.")
            finally:
                clear_fault()
            fixture.wait_ready()
            for load in loads:
                load.join()
        loads.append(GiftLoad(fixture, count=100, name="after").start())
        loads[-1].join()
        self.assertEqual(loads[-1].refused, {}, "requests are refused after the recovery")
        skip_backoff(fixture)
        wait_until_idle(fixture)
        mails, repeated = collector.finish()
        self.assertEqual((fixture.daemon.pid, fixture.daemon.poll()), (process, None))
        for load in loads:
            self.assertEqual(set(load.refused) - {503}, set())
            self.assertEqual(load.retry_after_missing, 0)
            check_stored_once(self, fixture, load)
            check_mailed_once(self, load, mails, repeated)
        self.assertEqual(sorted(mail.to for mail in mails if mail.to.startswith("outage")), sorted(acknowledged))
        mail = fixture.status()["mail"]
        self.assertEqual((mail["undelivered"], mail["uncertain"], mail["pause"]), (0, 0, None))
        self.assertRegex(fixture.whole_log(), log_pattern)
        self.assertLess(fixture.whole_log().count(" error "), 40, "the outage is logged when it begins, not for each request")
        print(f"{sum(load.count for load in loads)} requests, refused {[load.refused for load in loads]} ", end="", flush=True)

    def check_outage(self, fixture, name):
        """Waits for a 503 and checks it. A full disk accepts some writes whenever SQLite restarts its log; returns the addresses of
        the gifts that were acknowledged before the 503."""
        acknowledged = []
        with Client(fixture) as client:
            def refusal():
                address = f"{name}{len(acknowledged)}@example.com"
                response = client.send_gift(address)
                if response.status == 201:
                    acknowledged.append(address)
                return response if response.status != 201 else None

            self.assertEqual(client.get("/-/healthy").status, 200)
            response = daemon_fixture.wait_until(refusal, "a refusal")
            self.assertEqual((response.status, response.json()["code"]), (503, "unavailable"), response)
            self.assertGreaterEqual(int(response.headers["Retry-After"]), 1)
            self.assertNotIn(str(fixture.folder), response.body.decode())
            daemon_fixture.wait_until(lambda: client.get("/-/ready").status == 503, "a daemon that is not ready")
        return acknowledged

    def test_a_full_disk(self):
        fixture, disk = self.new_fixture_on("memory", 64)

        def fill():
            """Truncates SQLite's log first, so that the next write has to grow it."""
            daemon_fixture.wait_until(lambda: fixture.query("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == 0, "a checkpoint")
            disk.fill()

        self.run_with_fault(fixture, fill, disk.free_space, r"error .*(full|No space)", FAULTS)

    def test_a_disk_that_becomes_read_only(self):
        fixture, disk = self.new_fixture_on("image", 96)
        self.addCleanup(disk.freeze, False)
        self.run_with_fault(fixture, disk.freeze, lambda: disk.freeze(False), r"error .*(I/O|readonly|read-only)", FAULTS)

    def test_a_full_outbox_affects_no_gift(self):
        disk = Disk("memory", 4)
        self.addCleanup(disk.close)
        fixture = self.new_fixture(email={"transport": "file", "directory": str(disk.mount / "outbox"), "from": "gifts@example.com"})
        fixture.seed().start()
        disk.fill()
        with Client(fixture) as client:
            for number in range(3):
                self.assertEqual(client.send_gift(f"full{number}@example.com").status, 201)
        pause = daemon_fixture.wait_until(lambda: fixture.status()["mail"]["pause"], "delivery to be paused", pace_seconds=0.2)
        self.assertIn("No space left on device", pause["reason"])
        self.assertEqual(fixture.status()["mail"]["undelivered"], 0)
        disk.free_space()
        skip_backoff(fixture)
        daemon_fixture.wait_until(lambda: skip_backoff(fixture) or fixture.status()["mail"]["accepted"] == 3, "three mails", pace_seconds=0.2)
        self.assertEqual(len(list((disk.mount / "outbox").glob("*.eml"))), 3)
        self.assertEqual(list((disk.mount / "outbox").glob(".*")), [])

    def test_a_daemon_on_a_read_only_disk_reports_it_and_exits(self):
        fixture, disk = self.new_fixture_on("memory", 16)
        fixture.start()
        fixture.stop()
        disk.remount("ro")
        fixture.start(wait=False)
        code = fixture.wait_end()
        cause = f"the file {fixture.folder}/giftsync.db is on a read-only file system; mount it for writing"
        check = run(daemon_fixture.GIFTSYNCD, "--config", fixture.settings, "--check")
        command = fixture.try_ctl("account", "list")
        disk.remount("rw")
        self.assertIn(code, (69, 73, 74), fixture.log())
        self.assertIn(f"store.connection in {fixture.settings}", fixture.log())
        self.assertIn(cause, fixture.log())
        self.assertEqual((check.returncode, command.returncode), (69, 77), check.stderr + command.stderr)
        self.assertIn(cause, check.stderr)
        self.assertIn(f"{fixture.folder}/giftsync.db: the store cannot be opened: {cause}", command.stderr)

    def test_a_first_start_in_a_full_folder_leaves_nothing_half_made(self):
        disk = Disk("memory", 4)
        self.addCleanup(disk.close)
        folder = disk.mount / "giftsync"
        folder.mkdir()
        fixture = self.new_fixture(folder=folder)
        fixture.log_path = disk.folder / "giftsyncd.log"
        disk.fill()
        fixture.start(wait=False)
        self.assertIn(fixture.wait_end(), (69, 71, 73, 74, 78), fixture.log())
        disk.free_space()
        fixture.start()
        fixture.seed()
        with Client(fixture) as client:
            self.assertEqual(client.send_gift("first@example.com").status, 201)


if __name__ == "__main__":
    daemon_fixture.main()
