"""Writes a file of shuffled, duplicated status changes: python3 status_changes.py FIRST-ID GIFTS CHANGES.

Each gift is delivered and opened, then redeemed, donated, or expired and refunded, until CHANGES is reached; a quarter of the
lines are repeats, half of those with another event id.
"""
import datetime
import json
import random
import sys

first_id, gifts, lines = (int(word) for word in sys.argv[1:])
random.seed(20261121)
ENDS = (("redeemed",), ("redeemed",), ("donated",), ("expired", "refunded"))
BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def change(gift, step, status):
    moment = BEGIN + datetime.timedelta(seconds=gift % 100_000 + 86_400 * step, milliseconds=gift % 1000)
    return {
        "recipient_transaction_id": gift,
        "status": status,
        "occurred_at": moment.isoformat(timespec="milliseconds"),
        "event_id": f"evt-{gift}-{step}",
    }


distinct = lines * 3 // 4
changes = []
for step in range(64):
    for gift in range(first_id, first_id + gifts):
        chain = ("delivered", "opened") + ENDS[gift % len(ENDS)]
        # After its chain a gift is opened repeatedly; these later times change no record.
        changes.append((gift, step, chain[step] if step < len(chain) else "opened"))
        if len(changes) == distinct:
            break
    if len(changes) == distinct:
        break

written = [change(*one) for one in changes]
for number in range(lines - len(written)):
    repeat = dict(written[random.randrange(distinct)])
    if number % 2:
        repeat["event_id"] += "-again"
    written.append(repeat)
random.shuffle(written)
for one in written:
    sys.stdout.write(json.dumps(one) + "\n")
