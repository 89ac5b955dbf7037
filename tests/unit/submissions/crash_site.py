"""One process of a site that dies: `python -m tests.unit.submissions.crash_site STEP [POINT]`.

prepare  makes a site with one measured submission        crash POINT  publishes it and dies at POINT
race     moves one submission from many threads
fail POINT  ends a failed submission and dies at POINT
recover  starts anew, recovers, and prints what is there   upload POINT  sends a package and dies at POINT
"""

import json
import os
import sys
import threading
from datetime import timedelta
from importlib import import_module

DIED = 42


def main(step, point=""):
    os.environ["DJANGO_SETTINGS_MODULE"] = "zoo_site.settings"
    import django

    django.setup()
    from submissions.signals import run_queued, store_advanced

    run_queued.receivers = store_advanced.receivers = []
    {"prepare": prepare, "crash": crash, "recover": recover, "upload": upload, "fail": fail, "race": race}[step](
        point
    )


def prepare(_point):
    from django.conf import settings
    from django.core.management import call_command

    from submissions.kernel_store.create import create_store
    from tests.unit.submissions import zoo

    call_command("migrate", verbosity=0)
    create_store(settings.KERNEL_REPO_PATH, "Crash zoo")
    zoo.seed_board()
    submission = zoo.send()
    zoo.work()
    run = zoo.claim(submission)
    zoo.record_result(run.pk, run.epoch, zoo.good_result(run), zoo.RUNNER)


def crash(point):
    from tests.unit.submissions import zoo

    die_at(point)
    zoo.work()
    print("survived", point)


def fail(point):
    """Publish what is measured, then have another submission fail and die at POINT of its end."""
    from submissions.models import Submission
    from tests.unit.submissions import zoo

    zoo.work()
    submission = zoo.send(body="z[i] = 0;")
    zoo.work()
    run = zoo.claim(submission)
    zoo.record_result(run.pk, run.epoch, zoo.bad_result("wrong_result", "check:wrong-result"), zoo.RUNNER)
    assert Submission.objects.get(pk=submission.pk).ending == "failed"
    die_at(point)
    zoo.work()
    print("survived", point)


def upload(point):
    from tests.unit.submissions import zoo

    die_at(point)
    zoo.send(body="z[i] = 0;")
    print("survived", point)


def race(_point):
    """Let threads move one submission at once, on a real file, and print who succeeded."""
    from django.db import connection

    from submissions.lifecycle import advance_state
    from submissions.models import State
    from tests.unit.submissions import zoo

    submission = zoo.send(body="z[i] = 0;")
    start, won = threading.Barrier(6), []

    def run(name):
        start.wait()
        if advance_state(submission.pk, State.RECEIVED, State.VALIDATED, tree_digest=name):
            won.append(name)
        connection.close()

    racers = [threading.Thread(target=run, args=(name,)) for name in "abcdef"]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    events = list(submission.events.values_list("text", flat=True))
    print(json.dumps({"won": won, "kept": zoo.fresh(submission).tree_digest, "events": events}))


def die_at(point):
    """Die at an instant of the store, or before (`<`) or after (`>`) a function of ours returns."""
    if point[0] not in "<>":
        from submissions.kernel_store import faults

        faults._actions.append(lambda name: os._exit(DIED) if name == point else None)
        return
    module, name = point[1:].rsplit(":", 1)
    owner = import_module(module)
    real = getattr(owner, name)

    def dying(*given, **named):
        if point[0] == ">":
            real(*given, **named)
        os._exit(DIED)

    setattr(owner, name, dying)


def recover(_point):
    from django_q.models import OrmQ

    from submissions import spool
    from submissions.models import Submission
    from submissions.recovery import recover as recover_site
    from submissions.store import reader, writer
    from tests.unit.submissions import zoo

    OrmQ.objects.all().delete()
    recover_site(timedelta(0))
    zoo.work()
    found = recover_site(timedelta(0))
    store = reader()
    print(
        json.dumps(
            {
                "submissions": [
                    {"state": row.state, "ledger": sorted(zoo.ledger(row)), "decision": row.decision}
                    for row in Submission.objects.order_by("received_at")
                ],
                "subjects": [commit.subject for commit in store.commits("", store.main_head())],
                "ledger_subjects": [commit.subject for commit in store.commits("", store.ledger_head())],
                "bench": zoo.bench(),
                "files": sorted(zoo.on_main()),
                "pending": len(writer().pending()),
                "spool": len(list(spool.waiting())),
                "found_again": str(found),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
