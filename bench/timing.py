"""Contenders timed in turns."""

import statistics
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from problems import zeros

SLOW = 5  # a contender that takes so many times as long as Oriel is called in fewer rounds


@dataclass
class Contender:
    """A way to compute a problem. `run` computes it; `result` gives what the last run made, as a NumPy array in the
    problem's logical order. `other_layout`: it reads or writes another memory layout than the problem's."""

    name: str
    run: Callable[[], Any]
    result: Callable[[], np.ndarray]
    other_layout: bool = False


class Copy:
    """Moves so many bytes, half of them read and half written: by one thread, or in halves by two."""

    def __init__(self, moved, threads):
        half = max(moved // 2, 1)
        self.source, self.target = zeros((half,), np.uint8), zeros((half,), np.uint8)
        self.source[:] = 1
        bounds = [half * part // threads for part in range(threads + 1)]
        self.parts = [(self.target[a:b], self.source[a:b]) for a, b in zip(bounds, bounds[1:])]
        self.go, self.done = threading.Barrier(threads), threading.Barrier(threads)
        self.ended = False
        for part in self.parts[1:]:
            threading.Thread(target=self.work, args=(part,), daemon=True).start()

    def work(self, part):
        while True:
            self.go.wait()
            if self.ended:
                return
            np.copyto(*part)
            self.done.wait()

    def alone(self):
        np.copyto(self.target, self.source)

    def together(self):
        self.go.wait()
        np.copyto(*self.parts[0])
        self.done.wait()

    def end(self):
        self.ended = True
        if len(self.parts) > 1:
            self.go.wait()


def seconds_of(run, calls, clock=time.perf_counter):
    start = clock()
    for _ in range(calls):
        run()
    return (clock() - start) / calls


def rest(pause):
    """Waits until no thread of this process computes: some libraries' threads (OpenMP's) spin for 15 ms after their work
    is done, on the processor that the next contender needs."""
    for _ in range(50):
        before = time.process_time()
        time.sleep(pause)
        if time.process_time() - before < pause / 10:
            return


def wake(run, seconds=0.005):
    """Calls for so long, untimed: all threads were at rest, and until a clock tick Linux may let one that is woken wait
    for the processor of the one that woke it, as on virtual machines, where an idle processor seems taken."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        run()


def in_turns(runs, budget, rounds, pause=0.0, clock=time.perf_counter):
    """name -> seconds of each round. Every round calls each once, or as often as makes a millisecond; slow ones are left
    out after two rounds and their first call. Goes on after `rounds` until `budget` seconds are over. Before a turn all
    threads are at rest for `pause` seconds, and are woken by untimed calls; 0: there is one thread, and no need."""
    first = {name: seconds_of(run, 1, clock) for name, run in runs.items()}
    calls = {name: max(1, min(2000, int(1e-3 / max(seconds, 1e-7)))) for name, seconds in first.items()}
    slow = {name for name, seconds in first.items() if seconds > SLOW * first["Oriel"] and seconds > 0.05}
    taken = {name: [first[name]] if name in slow else [] for name in runs}
    names, end = list(runs), time.perf_counter() + budget
    done = 0
    while done < rounds or (time.perf_counter() < end and done < 50):
        for name in names:
            if name in slow and len(taken[name]) >= 3:
                continue
            if pause:
                rest(pause)
                wake(runs[name])
            taken[name].append(seconds_of(runs[name], calls[name], clock))
        names.append(names.pop(0))
        done += 1
    return taken


def summary_of(taken):
    """Median, least and spread (half the distance of the quartiles, in parts of the median) of a contender's rounds."""
    median = statistics.median(taken)
    quartiles = statistics.quantiles(taken, n=4) if len(taken) > 1 else [median] * 3
    return {
        "seconds": median,
        "least": min(taken),
        "spread": (quartiles[2] - quartiles[0]) / 2 / median,
        "rounds": len(taken),
    }
