"""Seeds of random tests: one that never changes, and a fresh one that the test's name shows; ORIEL_SEED repeats one."""

import os
import random

import pytest


def seeds():
    fresh = int(os.environ.get("ORIEL_SEED", random.SystemRandom().randrange(2**31)))
    return [pytest.param(1, id="fixed"), pytest.param(fresh, id=f"fresh-{fresh}")]
