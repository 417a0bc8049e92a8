"""Trains the demo network on synthetic portraits; see docs/portrait-model.md.

    python apps/portrait/training/train.py --phases 128:24:20000:4e-3,256:8:6000:1e-3

A phase is SIZE:BATCH:STEPS:RATE; the rate falls evenly to the next phase's, the last one's to nothing. The state is kept in --folder every two minutes; the same command goes on from there.
"""

import argparse
import copy
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

import network
import pool
from synthetic import scene

EMA = 0.995
EMPTY = 0.1  # part of the samples whose people are left out


class Samples(torch.utils.data.IterableDataset):
    """Batches (pictures [n][3][size][size] uint8, alphas [n][1][size][size] uint8) from `step` to `steps` of one phase.

    Sample j of step i of a phase follows from the seed and the pool's length at the time.
    """

    def __init__(self, folder, seed, phase, size, batch, step, steps, limit=None):
        self.folder, self.seed, self.phase, self.size, self.batch, self.step, self.steps = folder, seed, phase, size, batch, step, steps
        self.limit = limit

    def __iter__(self):
        torch.set_num_threads(1)
        store = pool.Pool(self.folder)
        worker = torch.utils.data.get_worker_info()
        first, every = (worker.id, worker.num_workers) if worker else (0, 1)
        people = grounds = None
        for step in range(self.step + first, self.steps, every):
            if people is None or step % 200 < every:
                people, grounds = store.entries("people", self.limit), store.entries("grounds", self.limit)
            pairs = [self._one(step, j, people, grounds) for j in range(self.batch)]
            yield (torch.from_numpy(np.stack([p for p, _ in pairs])).permute(0, 3, 1, 2).contiguous(),
                   torch.from_numpy(np.stack([a for _, a in pairs])[:, None]))

    def _one(self, step, j, people, grounds):
        rng = np.random.Generator(np.random.PCG64([self.seed, self.phase, step, j]))
        who, where = rng.integers(len(people)), rng.integers(len(grounds))
        front = np.zeros_like(people[who]) if rng.random() < EMPTY else np.asarray(people[who])
        picture, alpha = scene.seen(front, np.asarray(grounds[where]), rng, self.size)
        return picture, (alpha * 255 + 0.5).astype(np.uint8)


def loss(logits, alpha):
    """Cross entropy + Dice + the alpha's absolute error at the boundary."""
    guess = torch.sigmoid(logits)
    entropy = F.binary_cross_entropy_with_logits(logits, alpha)
    overlap = (guess * alpha).sum((1, 2, 3))
    dice = 1 - (2 * overlap + 1) / (guess.sum((1, 2, 3)) + alpha.sum((1, 2, 3)) + 1)
    wide = F.avg_pool2d(alpha, 7, 1, 3)
    boundary = ((wide > 0.01) & (wide < 0.99)).float()
    edge = ((guess - alpha).abs() * boundary).sum() / (boundary.sum() + 1)
    return entropy + 0.5 * dice.mean() + 0.5 * edge


def smoothed(average, value, count):
    """The exponential moving average, which forgets faster at the beginning."""
    return average + (value - average) * (1 - min(EMA, (1 + float(count)) / (10 + float(count))))


class Training:
    """A network, its smoothed copy, and its optimiser, with a state that can be kept and taken up again."""

    def __init__(self, width, seed, threads=1):
        """threads: parts of a batch that are carried out at the same time, each by one thread and with its own batch statistics."""
        torch.manual_seed(seed)
        self.net = network.UNet(width).to(memory_format=torch.channels_last)
        self.smooth = torch.optim.swa_utils.AveragedModel(self.net, avg_fn=smoothed, use_buffers=True)
        self.optimiser = torch.optim.AdamW(self.net.parameters(), weight_decay=1e-3)
        self.done = 0
        self.copies = [self.net] + [copy.deepcopy(self.net) for _ in range(threads - 1)]
        for twin in self.copies[1:]:
            for own, shared in zip(twin.parameters(), self.net.parameters()):
                own.data = shared.data
        self.threads = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))

    @staticmethod
    def _gradients(net, pictures, alphas):
        net.train()
        x = pictures.float().div_(255).contiguous(memory_format=torch.channels_last)
        error = loss(net(x), alphas.float().div_(255))
        return error.detach(), torch.autograd.grad(error, list(net.parameters()))

    def step(self, pictures, alphas, rate):
        """One step on uint8 batches; returns the loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate * min(1.0, (self.done + 1) / 100)
        n = len(self.copies)
        found = list(self.threads.map(self._gradients, self.copies, pictures.chunk(n), alphas.chunk(n)))
        for parameter, *parts in zip(self.net.parameters(), *(gradients for _, gradients in found)):
            parameter.grad = sum(parts) / len(parts)
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 2.0)
        self.optimiser.step()
        self.smooth.update_parameters(self.net)
        self.done += 1
        return float(sum(error for error, _ in found)) / len(found)

    def keep(self, path, **more):
        state = {"net": self.net.state_dict(), "smooth": self.smooth.state_dict(), "optimiser": self.optimiser.state_dict(), "done": self.done, **more}
        torch.save(state, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)

    def take_up(self, path):
        """Loads a kept state; returns what was kept beside it."""
        state = torch.load(path, weights_only=True)
        self.net.load_state_dict(state["net"])
        self.smooth.load_state_dict(state["smooth"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.done = state["done"]
        return state


def phases(text):
    """[(size, batch, steps, rate)] of "SIZE:BATCH:STEPS:RATE,..."; sizes must be multiples of 16."""
    found = []
    for part in text.split(","):
        try:
            *whole, rate = part.split(":")
            size, batch, steps, rate = (*(int(v) for v in whole), float(rate))
        except ValueError:
            raise ValueError(f"train: a phase must be SIZE:BATCH:STEPS:RATE, but it is {part!r}") from None
        if size < 16 or size % 16 or batch < 1 or steps < 1 or not 0 < rate < 1:
            raise ValueError(f"train: a phase's size must be a multiple of 16, batch and steps >= 1, the rate between 0 and 1, but it is {part!r}")
        found.append((size, batch, steps, rate))
    return found


def run(choice, log=print):
    """Trains through all phases, keeping the state; returns the Training."""
    plan = phases(choice.phases)
    folder = Path(choice.folder)
    folder.mkdir(parents=True, exist_ok=True)
    training = Training(choice.width, choice.seed, choice.threads)
    state = folder / "state.pt"
    begin_phase = begin_step = 0
    if state.exists():
        kept = training.take_up(state)
        begin_phase, begin_step = kept["phase"], kept["step"]
        log(f"train: goes on at phase {begin_phase}, step {begin_step}")
    about = {"seed": choice.seed, "phases": choice.phases}
    saved = time.time()
    for phase in range(begin_phase, len(plan)):
        size, batch, steps, rate = plan[phase]
        final = plan[phase + 1][3] if phase + 1 < len(plan) else 0.0
        start = begin_step if phase == begin_phase else 0
        samples = Samples(choice.pool, choice.seed, phase, size, batch, start, steps)
        recent, clock = [], time.time()
        for step, (pictures, alphas) in enumerate(torch.utils.data.DataLoader(samples, batch_size=None, num_workers=choice.workers), start):
            recent.append(training.step(pictures, alphas, rate + (final - rate) * step / steps))
            if (step + 1) % 25 == 0:
                log(f"phase {phase} ({size}) step {step + 1}/{steps} loss {np.mean(recent):.4f} {25 * batch / (time.time() - clock):.1f} pictures/s", flush=True)
                recent, clock = [], time.time()
            if time.time() - saved > 120:
                training.keep(state, phase=phase, step=step + 1, **about)
                saved = time.time()
        training.keep(state, phase=phase + 1, step=0, **about)
    return training


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", default="build/portrait/pool", help="folder that pool.py made")
    parser.add_argument("--folder", default="build/portrait/training", help="where the state is kept")
    parser.add_argument("--phases", default="64:32:4000:4e-3,128:16:6000:2e-3,256:8:3000:1e-3", help="SIZE:BATCH:STEPS:RATE, ...")
    parser.add_argument("--width", type=int, default=8, help="channels of the first level")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="parts of a batch at the same time")
    parser.add_argument("--workers", type=int, default=1, help="processes that make samples")
    return parser


if __name__ == "__main__":
    given = options().parse_args()
    torch.set_num_threads(1)
    run(given)
