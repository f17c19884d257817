#!/usr/bin/python3
"""Several daemons on one PostgreSQL: in each round one is killed, and another one is suspended until its leases have ended and then
resumed. Nothing is lost or doubled, and all of them did a part of the work. Run by scripts/with-postgresql.

DAEMONS (3), ROUNDS (3), CALLS (100) acknowledged in each round; LEASES=real waits for the leases (95 s a round).
"""
import os
import signal

import daemon_fixture
import mixed_load
import postgresql_two_daemons_test as two_daemons
from gift_load import skip_backoff, wait_until_idle
from mixed_load import MixedLoad
from smtp_relay import SmtpRelay

DAEMONS = int(os.environ.get("DAEMONS", "3"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
CALLS = int(os.environ.get("CALLS", "100"))
# Lines of the log that tell of work that only one daemon did.
SHARED_WORK = ("mail handed to the relay", "gift record created in the CRM")


class SeveralDaemons(daemon_fixture.DaemonTestCase):
    def new_daemons(self, relay):
        store = daemon_fixture.store_settings("postgresql")
        daemons = []
        for number in range(DAEMONS):
            one = self.new_fixture(store=store, folder=daemons[0].folder if daemons else None, name=f"daemon{number}")
            one.email = relay.settings(one.folder)
            one.write_settings(mixed_load.SETTINGS)
            one.key = daemons[0].key if daemons else one.seed().key
            daemons.append(one.start())
        return daemons

    # OPS-9, ARCH-17
    def test_killed_and_suspended_daemons_lose_and_double_nothing(self):
        relay = SmtpRelay()
        self.addCleanup(relay.close)
        daemons = self.new_daemons(relay)
        load = MixedLoad(*daemons, name="shared").start()
        for number in range(ROUNDS):
            load.wait_more(CALLS)
            self.kill_and_suspend(load, daemons[number % DAEMONS], daemons[(number + 1) % DAEMONS])
        load.wait_more(CALLS)
        load.finish()
        for one in daemons:
            one.wait_ready()
        for _ in range(3):  # rows that a killed or suspended daemon had claimed are uncertain
            skip_backoff(daemons[0], ("queued", "uncertain"))
            wait_until_idle(daemons[0])
        print(f"{DAEMONS} daemons: {load.summary()} ", end="", flush=True)
        mixed_load.audit(self, daemons[0], load, relay.arrivals())
        daemons[0].ctl("db", "check")  # NUM-4
        for work in SHARED_WORK:
            shares = [one.whole_log().count(work) for one in daemons]
            print(f"{work}: {shares} lines ", end="", flush=True)
            self.assertGreater(min(shares), 0, f"a daemon did nothing of: {work}")

    @staticmethod
    def kill_and_suspend(load, killed, suspended):
        killed.kill()
        suspended.signal(signal.SIGSTOP)
        try:
            for one in (killed, suspended):
                two_daemons.end_leases(one)
            load.wait_more(CALLS // 3)
        finally:
            suspended.signal(signal.SIGCONT)
        killed.start(wait=False)


if __name__ == "__main__":
    daemon_fixture.main()
