#!/usr/bin/python3
"""A disk that is full, or has become read-only, under a running daemon. Skipped where no file system can be mounted."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import house
from gift_load import GiftLoad, at_rest, check_mailed_once, check_stored_once, let_waits_pass
from http_client import Client
from mails import Collector

GIFTS = int(os.environ.get("GIFTS", "200"))


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=house.PATIENCE_SECONDS,
                          check=False)


class Disk:
    """A small file system of its own, mounted in a temporary folder: in memory, or ext4 in an image."""

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
        """Until not a byte more fits."""
        with open(self.mount / "ballast", "wb", buffering=0) as ballast:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while ballast.write(b"x" * size):
                        pass
                except OSError:
                    continue

    def relieve(self):
        (self.mount / "ballast").unlink()

    def freeze(self, frozen=True):
        """Nothing can be written, not even to files that are open already. Only on ext4. The index that SQLite's processes
        share in memory is spared: a page of it that cannot be written ends a process, whatever it does."""
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


class BrokenDisk(house.HouseTest):
    def new_house_on(self, kind, megabytes):
        disk = Disk(kind, megabytes)
        self.addCleanup(disk.close)
        folder = disk.mount / "house"
        folder.mkdir()
        given = self.new_house(folder=folder)
        given.log_path = disk.folder / "giftsyncd.log"  # the log is not on the broken disk
        return given.furnish(), disk

    def survive(self, given, spoil, mend, words, times):
        """Gifts come in while the disk is spoilt and mended; nothing that was acknowledged is lost."""
        collector = Collector(given.outbox)
        given.start()
        process = given.daemon.pid
        loads, slipped = [], []
        for time in range(times):
            # The second half comes once it is spoilt, so that there is no way for all of it to slip through before.
            loads.append(GiftLoad(given, count=GIFTS // 2, name=f"before{time}.", clients=16).start())
            loads[-1].wait_acknowledged(GIFTS // 4)
            spoil()
            try:
                loads.append(GiftLoad(given, count=GIFTS // 2, name=f"during{time}.", clients=16).start())
                loads[-1].wait_refused(20)
                slipped += self.check_outage(given, f"outage{time}.")
            finally:
                mend()
            given.wait_ready()
            for load in loads:
                load.join()
        loads.append(GiftLoad(given, count=100, name="after").start())
        loads[-1].join()
        self.assertEqual(loads[-1].refused, {}, "it is not quite well again")
        let_waits_pass(given)
        at_rest(given)
        mails, repeated = collector.finish()
        self.assertEqual((given.daemon.pid, given.daemon.poll()), (process, None))
        for load in loads:
            self.assertEqual(set(load.refused) - {503}, set())
            self.assertEqual(load.retry_after_missing, 0)
            check_stored_once(self, given, load)
            check_mailed_once(self, load, mails, repeated)
        self.assertEqual(sorted(mail.to for mail in mails if mail.to.startswith("outage")), sorted(slipped))
        mail = given.status()["mail"]
        self.assertEqual((mail["undelivered"], mail["uncertain"], mail["pause"]), (0, 0, None))
        self.assertRegex(given.whole_log(), words)
        self.assertLess(given.whole_log().count(" error "), 40, "a line when it begins, not one for each request")
        print(f"{sum(load.count for load in loads)} requests, refused {[load.refused for load in loads]} ", end="", flush=True)

    def check_outage(self, given, name):
        """Callers are told of it. A full disk has room again for a moment whenever SQLite begins its log anew, so they ask
        until it refuses; returns the addresses of the gifts that were acknowledged until then."""
        acknowledged = []
        with Client(given) as client:
            def refusal():
                address = f"{name}{len(acknowledged)}@example.com"
                answer = client.send_gift(address)
                if answer.status == 201:
                    acknowledged.append(address)
                return answer if answer.status != 201 else None

            self.assertEqual(client.get("/-/healthy").status, 200)
            answer = house.wait_until(refusal, "a refusal")
            self.assertEqual((answer.status, answer.json()["code"]), (503, "unavailable"), answer)
            self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
            self.assertNotIn(str(given.folder), answer.body.decode())
            house.wait_until(lambda: client.get("/-/ready").status == 503, "a house that is not ready")
        return acknowledged

    def test_a_full_disk(self):
        given, disk = self.new_house_on("memory", 64)

        def fill():
            """SQLite's log begins anew, so that it has to grow and no room is left in it from before."""
            house.wait_until(lambda: given.query("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == 0, "a checkpoint")
            disk.fill()

        self.survive(given, fill, disk.relieve, r"error .*(full|No space)", 2)

    def test_a_disk_that_becomes_read_only(self):
        given, disk = self.new_house_on("image", 96)
        self.addCleanup(disk.freeze, False)
        self.survive(given, disk.freeze, lambda: disk.freeze(False), r"error .*(I/O|readonly|read-only)", 2)

    def test_a_full_outbox_concerns_no_gift(self):
        disk = Disk("memory", 4)
        self.addCleanup(disk.close)
        given = self.new_house(email={"transport": "file", "directory": str(disk.mount / "outbox"), "from": "gifts@example.com"})
        given.furnish().start()
        disk.fill()
        with Client(given) as client:
            for number in range(3):
                self.assertEqual(client.send_gift(f"full{number}@example.com").status, 201)
        pause = house.wait_until(lambda: given.status()["mail"]["pause"], "the outbox to rest", pace_seconds=0.2)
        self.assertIn("No space left on device", pause["reason"])
        self.assertEqual(given.status()["mail"]["undelivered"], 0)
        disk.relieve()
        let_waits_pass(given)
        house.wait_until(lambda: let_waits_pass(given) or given.status()["mail"]["accepted"] == 3, "three mails", pace_seconds=0.2)
        self.assertEqual(len(list((disk.mount / "outbox").glob("*.eml"))), 3)
        self.assertEqual(list((disk.mount / "outbox").glob(".*")), [])

    def test_a_daemon_on_a_read_only_disk_says_so_and_ends(self):
        given, disk = self.new_house_on("memory", 16)
        given.start()
        given.stop()
        disk.remount("ro")
        given.start(wait=False)
        code = given.wait_end()
        disk.remount("rw")
        self.assertIn(code, (69, 73, 74), given.log())
        self.assertIn(f"store.connection in {given.settings}", given.log())
        self.assertRegex(given.log(), "(?i)read-?only|cannot be written|unable to open")

    def test_a_first_start_in_a_full_folder_leaves_nothing_half_made(self):
        disk = Disk("memory", 4)
        self.addCleanup(disk.close)
        folder = disk.mount / "house"
        folder.mkdir()
        given = self.new_house(folder=folder)
        given.log_path = disk.folder / "giftsyncd.log"
        disk.fill()
        given.start(wait=False)
        self.assertIn(given.wait_end(), (69, 71, 73, 74, 78), given.log())
        disk.relieve()
        given.start()
        given.furnish()
        with Client(given) as client:
            self.assertEqual(client.send_gift("first@example.com").status, 201)


if __name__ == "__main__":
    house.main()
