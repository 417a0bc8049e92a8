"""ITK by SimpleITK: medians and ranks of any type and rank, means of blocks, top-hats."""

import SimpleITK as sitk

from science_peers import Rival, border

NAME = "ITK"
TYPES = ("uint8", "uint16", "uint32", "int16", "int32", "float32", "float64")


def load():
    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
    sitk.ProcessObject.SetGlobalDefaultThreader("Platform")
    return sitk.Version_VersionString()


def rivals(case, x, mask):
    if case.masked or case.omit or x.dtype.name not in TYPES or case.rank not in (2, 3):
        return []
    image = sitk.GetImageFromArray(x)
    radius = [k // 2 for k in reversed(case.kernel)]
    there = {
        "result": sitk.GetArrayFromImage,
        "margin": border(case),
        "difference": "copies of the border instead of fewer elements",
    }
    if case.filter == "white_tophat":
        return [Rival(NAME, lambda: sitk.WhiteTopHat(image, radius, sitk.sitkBox), **there)]
    if case.filter:
        return []
    if case.sliding and case.op == "median":
        found = [Rival(f"{NAME} Median", lambda: sitk.Median(image, radius), **there)]
        return found + [Rival(f"{NAME} Rank", lambda: sitk.Rank(image, 0.5, radius), **there)]
    if case.sliding and case.op == "quantile":
        return [
            Rival(
                f"{NAME} Rank",
                lambda: sitk.Rank(image, case.options["q"], radius),
                changes={"method": "lower"},
                **there,
            )
        ]
    if case.whole_blocks and case.op == "avg":
        factors = list(reversed(case.kernel))
        return [
            Rival(
                f"{NAME} BinShrink",
                lambda: sitk.BinShrink(image, factors),
                sitk.GetArrayFromImage,
                absolute=1.0 if x.dtype.kind in "iu" else 1e-6,
                difference="halves are rounded up",
            )
        ]
    return []
