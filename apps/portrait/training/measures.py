"""How far a guessed alpha is from the true one."""

import numpy as np
from scipy import ndimage


def measures(guess, alpha, counted=None):
    """How far a guessed alpha is from the true one: IoU of what is above one half (nan where nobody is there), the mean
    distance between the outlines in pixels (nan where one has none), mean absolute error of alpha; over `counted` pixels."""
    counted = np.ones(alpha.shape, bool) if counted is None else counted
    seen, true = (guess > 0.5) & counted, (alpha > 0.5) & counted
    union = (seen | true).sum()
    return {"iou": float((seen & true).sum() / union) if true.any() else float("nan"),
            "boundary": _between(_outline(guess > 0.5) & counted, _outline(alpha > 0.5) & counted),
            "mae": float(np.abs(guess - alpha)[counted].mean())}


def _outline(mask):
    """The pixels of a mask that touch what is outside of it, but not the picture's edge."""
    return mask & ~ndimage.binary_erosion(mask, border_value=1)


def _between(first, second):
    """Mean distance from each set's points to the other set, averaged over both directions; nan where a set is empty."""
    if not first.any() or not second.any():
        return float("nan")
    there = ndimage.distance_transform_edt(~second)[first].mean()
    back = ndimage.distance_transform_edt(~first)[second].mean()
    return float((there + back) / 2)


def outline_error(guess, alpha, counted, margin=4):
    """The mean distance in pixels from the outline of each alpha, above one half, to that of the other, averaged over both
    directions; nan if one has none. Outlines within `margin` pixels of what is not counted are left out: along a helmet
    that may belong to her, the true outline is a matter of opinion too."""
    counted = ndimage.binary_erosion(counted, iterations=margin, border_value=1)
    first, second = _outline(guess > 0.5), _outline(alpha > 0.5)
    if not (first & counted).any() or not (second & counted).any():
        return float("nan")
    there = ndimage.distance_transform_edt(~second)[first & counted].mean()
    back = ndimage.distance_transform_edt(~first)[second & counted].mean()
    return float((there + back) / 2)


def page_measures(guess, alpha, counted):
    """measures() with the outline error as "boundary", in pixels of an image whose longer side has 512: what the pages report."""
    found = measures(guess, alpha, counted)
    found["boundary"] = outline_error(guess, alpha, counted) * 512 / max(alpha.shape)
    return found
