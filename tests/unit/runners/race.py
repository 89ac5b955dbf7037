"""Many processes claim at once on one database file; prints what each one got. Run as a program by a test."""

import json
import multiprocessing
import sys

import django

CLAIMERS, RUNS = 6, 9


def main():
    django.setup()
    from django.core.management import call_command
    from django.db import connections

    from tests.unit.runners.conftest import create_run, create_runner

    call_command("migrate", verbosity=0)
    shared = create_runner("shared")
    ids = [shared.pk, shared.pk, *(create_runner(f"cpu{number}").pk for number in range(CLAIMERS - 2))]
    for _ in range(RUNS):
        create_run()
    connections.close_all()
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(CLAIMERS), context.Queue()
    claimers = [context.Process(target=claim_at_once, args=(pk, barrier, answers)) for pk in ids]
    for process in claimers:
        process.start()
    got = [answers.get(timeout=60) for _ in claimers]
    for process in claimers:
        process.join()
    json.dump(got, sys.stdout)


def claim_at_once(runner_id, barrier, answers):
    from runners.claims import claim

    barrier.wait()
    leases = [claim(runner_id) for _ in range(5)]
    answers.put([runner_id, [[lease.token, str(lease.run_id)] for lease in leases]])


if __name__ == "__main__":
    main()
