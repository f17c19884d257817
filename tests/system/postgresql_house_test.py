#!/usr/bin/python3
"""The main job on PostgreSQL; killed daemons; and a server that goes away under load. Run by scripts/with-postgresql."""
import os
import subprocess

import gift_load
import house
import kill_test
import main_job_test
from http_client import Client
from mails import Collector


class MainJobOnPostgresql(main_job_test.MainJob):
    back_end = "postgresql"


class KilledOnPostgresql(kill_test.Killed):
    back_end = "postgresql"
    gifts = int(os.environ.get("GIFTS", "200"))
    kills = int(os.environ.get("KILLS", "6"))


def server(*arguments):
    """Stops or starts the PostgreSQL server."""
    subprocess.run([os.environ["GIFTSYNC_TEST_PG_CTL"], *arguments], check=True, timeout=120)


class ServerGone(house.HouseTest):
    gifts = int(os.environ.get("GIFTS", "300"))

    def test_an_outage_is_told_and_ends_by_itself(self):
        given = self.new_house(store=house.store_settings("postgresql")).furnish()
        collector = Collector(given.outbox)
        given.start()
        process = given.daemon.pid
        load = gift_load.GiftLoad(given, count=self.gifts).start()
        for outage, way in enumerate(("immediate", "fast", "immediate"), start=1):
            load.wait_acknowledged(self.gifts * outage // 4)
            server("stop", "-m", way)
            try:
                self.check_outage(given, load)
            finally:
                server("start")
            given.wait_ready()
        load.join()
        gift_load.at_rest(given)
        mails, repeated = collector.finish()
        self.assertEqual((given.daemon.pid, given.daemon.poll()), (process, None), "it went on without a restart")
        self.assertEqual(set(load.refused) - {409, 503}, set())
        self.assertGreater(load.refused[503], 0)
        self.assertEqual(load.retry_after_missing, 0)
        gift_load.check_stored_once(self, given, load)
        gift_load.check_mailed_once(self, load, mails, repeated)
        self.assertEqual(given.status()["mail"]["undelivered"], 0)
        log = given.whole_log()
        self.assertLess(log.count(" error "), 60, "a line when an outage begins, not one for each request")
        self.assertIn("works again", log)
        print(f"{self.gifts} requests, 3 outages, refused {load.refused} ", end="", flush=True)

    def check_outage(self, given, load):
        with Client(given) as client:
            self.assertEqual(client.get("/-/healthy").status, 200)
            self.assertEqual(client.get("/-/ready").status, 503)
            answer = client.send_gift("outage@example.com")
            self.assertEqual((answer.status, answer.json()["code"]), (503, "unavailable"), answer)
            self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
            self.assertNotIn("psql", answer.body.decode())
        load.wait_refused(10)
        ended = given.try_ctl("status")
        self.assertEqual(ended.returncode, 69, ended)
        self.assertIn("PostgreSQL", ended.stderr + ended.stdout)


class NoServer(house.HouseTest):
    def test_a_daemon_without_its_server_says_so_and_ends(self):
        store = {"backend": "postgresql", "connection": f"host=127.0.0.1 port={house.free_port()} dbname=none user=none"}
        given = self.new_house(store=store).start(wait=False)
        self.assertEqual(given.wait_end(), 69)
        self.assertIn("store.connection", given.log())
        self.assertIn(str(given.settings), given.log())


if __name__ == "__main__":
    house.main()
