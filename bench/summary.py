"""What files of bench/compare.py say in few numbers. Usage: summary.py RESULTS.json..."""

import json
import statistics
import sys
from pathlib import Path

NOISE = 1.05  # a peer is faster where Oriel takes more than so many times as long


STORED = "Oriel, stored codes"  # gradients of maxima by codes that a forward has stored; "Oriel" finds them again
OURS = ("Oriel", STORED)
FOLLOWING = ("PyTorch", "oneDNN")  # peers whose gradients of maxima follow what their forward has stored


def best_peer(result):
    """The peer that reads and writes the problem's own layout and is the fastest beside Oriel, or None."""
    peers = [name for name in result["times"] if name not in (*OURS, "copy") and name not in result["other_layout"]]
    return max(peers, key=lambda name: ratio(result, name)) if peers else None


def like(result, to):
    """Which of Oriel's ways does what `to` does."""
    follows = to.split(",")[0] in FOLLOWING
    return STORED if follows and STORED in result["times"] else "Oriel"


def ratio(result, to, ours=None):
    """Oriel's time, of the way that does the same, or of `ours`, in times of `to`: below 1 Oriel is faster."""
    return result["times"][ours or like(result, to)]["seconds"] / result["times"][to]["seconds"]


def bound(result, ours):
    """The seconds of a copy of as many bytes as that way of Oriel's must move."""
    bytes_moved = result["stored_bytes"] if ours == STORED else result["bytes"]
    return result["times"]["copy"]["seconds"] * bytes_moved / result["bytes"]


def merged(wholes):
    """Several runs as one, of medians."""
    whole = json.loads(json.dumps(wholes[0]))
    runs = [{(r["group"], r["problem"], r["threads"]): r for r in other["results"]} for other in wholes]
    for result in whole["results"]:
        same = [run.get((result["group"], result["problem"], result["threads"])) for run in runs]
        for name, time in result["times"].items():
            taken = [r["times"][name]["seconds"] for r in same if r and name in r["times"]]
            time["seconds"] = statistics.median(taken)
    return whole


def geometric_mean(values):
    values = list(values)
    return statistics.geometric_mean(values) if values else None


def label(result):
    return result["problem"] + (" in a larger array" if result["group"] == "views" else "")


def backward(result):
    return ":backward" in result["problem"]


def peers_of(results):
    return list(dict.fromkeys(name for r in results for name in r["times"] if name not in (*OURS, "copy")))


def means(results, ours=None):
    """peer -> (geometric mean of how many times as long as Oriel it takes, cases)."""
    return {
        peer: (
            geometric_mean(1 / ratio(r, peer, ours) for r in results if peer in r["times"]),
            sum(peer in r["times"] for r in results),
        )
        for peer in peers_of(results)
    }


def bound_beside(results, peer, recomputed):
    """How many times as long as the bound a peer takes: what Oriel's means could reach."""
    beside = [r for r in results if peer in r["times"]]
    return geometric_mean(r["times"][peer]["seconds"] / bound(r, "Oriel" if recomputed else like(r, peer)) for r in beside)


def training(results):
    """How many times as long as Oriel's a forward and backward of PyTorch take: (geometric mean, problems). Oriel's
    forward stores nothing, and its backward recomputes the maxima."""
    names = {r["problem"]: r for r in results if "PyTorch" in r["times"] and r["group"] != "views"}
    pairs = [(r, names[name + ":backward"]) for name, r in names.items() if name + ":backward" in names]
    steps = [
        sum(r["times"]["PyTorch"]["seconds"] for r in pair) / sum(r["times"]["Oriel"]["seconds"] for r in pair)
        for pair in pairs
    ]
    return geometric_mean(steps), len(steps)


def summarise(whole):
    """Everything that is printed, as a dictionary: per number of threads and direction, and per group."""
    summary = {"sections": [], "slower": [], "left_out": {}}
    results = whole["results"]
    for threads in sorted({r["threads"] for r in results}):
        for direction in (False, True):
            these = [r for r in results if r["threads"] == threads and backward(r) == direction]
            if not these:
                continue
            worst = max(these, key=lambda r: ratio(r, "copy"))
            beside = [r for r in these if best_peer(r)]
            section = {
                "threads": threads,
                "direction": "backward" if direction else "forward",
                "cases": len(these),
                "copy_mean": geometric_mean(ratio(r, "copy") for r in these),
                "copy_worst": [ratio(worst, "copy"), label(worst)],
                "means": means(these),
                "bound_beside_torch": bound_beside(these, "PyTorch", False),
                "groups": {},
            }
            if beside:
                worst = max(beside, key=lambda r: ratio(r, best_peer(r)))
                section["peer_worst"] = [ratio(worst, best_peer(worst)), label(worst), best_peer(worst)]
            for group in dict.fromkeys(r["group"] for r in these):
                members = [r for r in these if r["group"] == group]
                section["groups"][group] = {
                    "copy_mean": geometric_mean(ratio(r, "copy") for r in members),
                    "copy_worst": max(ratio(r, "copy") for r in members),
                    "means": means(members),
                }
            if any(STORED in r["times"] for r in these):
                section["recomputed"] = means(these, "Oriel")
                section["bound_recomputed"] = bound_beside(these, "PyTorch", True)
            if direction:
                section["training"] = training([r for r in results if r["threads"] == threads])
            summary["sections"].append(section)
    for r in results:
        peer = best_peer(r)
        if peer and ratio(r, peer) > NOISE:
            summary["slower"].append([ratio(r, peer), label(r), r["threads"], peer, ratio(r, "copy")])
        for name, why in r["left_out"].items():
            summary["left_out"].setdefault(f"{name}: {why}", []).append(label(r))
    summary["slower"].sort(reverse=True)
    return summary


def lines(whole):
    summary = summarise(whole)
    for section in summary["sections"]:
        yield f"\n== {section['direction']}, {section['threads']} thread{'s' if section['threads'] > 1 else ''}, {section['cases']} problems"
        yield f"ratio to a copy: mean {section['copy_mean']:.2f}, worst {section['copy_worst'][0]:.2f} ({section['copy_worst'][1]})"
        if "peer_worst" in section:
            yield "ratio to the fastest peer: worst {:.2f} ({}, {})".format(*section["peer_worst"])
        for name, group in section["groups"].items():
            beside = ", ".join(f"{peer} {mean:.1f}" for peer, (mean, _) in group["means"].items())
            yield f"  {name:<12} copy {group['copy_mean']:.2f} (worst {group['copy_worst']:.2f}); times as fast as: {beside}"
        for peer, (mean, count) in section["means"].items():
            yield f"  {mean:8.2f} times as fast as {peer} (geometric mean of {count} problems)"
        for peer, (mean, count) in section.get("recomputed", {}).items():
            if peer.split(",")[0] in FOLLOWING:
                yield f"  {mean:8.2f} times as fast as {peer} if Oriel recomputes maxima ({count} problems)"
        if section["bound_beside_torch"]:
            yield f"  {section['bound_beside_torch']:8.2f} times as fast as PyTorch is a copy of the bytes that must be moved"
        mean, count = section.get("training", (None, 0))
        if count:
            yield f"  {mean:8.2f} times as fast as PyTorch in forward and backward together ({count} problems)"
    yield f"\n== slower than the fastest peer: {len(summary['slower'])} of {len(whole['results'])}"
    for times, problem, threads, peer, copy in summary["slower"]:
        yield f"  {times:6.2f} x {peer:<14} {threads} {problem} ({copy:.2f} x copy)"
    for why, problems in summary["left_out"].items():
        yield f"LEFT OUT {why} ({len(problems)} problems, such as {problems[0]})"


def print_summary(whole):
    print("\n".join(lines(whole)))


if __name__ == "__main__":
    print_summary(merged([json.loads(Path(name).read_text()) for name in sys.argv[1:]]))
