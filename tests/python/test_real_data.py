"""Pools of real pictures, brains, atlases and maps against plain NumPy, and against what people use for them.

scikit-image's pictures are tested always. The others come in packages that are not among the tests' requirements
(nilearn, nibabel, global-land-mask, scikit-learn of PyPI, mricron-data of Debian); where one is absent its test says so.
ORIEL_MRICRON may name the folder of mricron-data's templates.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage
import skimage
import skimage.filters
import skimage.io
import skimage.morphology
from skimage.util import random_noise

import oriel
import oriel.ndimage
import oriel.skimage.filters
import oriel.skimage.morphology

MRICRON = Path(os.environ.get("ORIEL_MRICRON", "/usr/share/mricron/templates"))


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    install = "pip install nilearn==0.14.1 nibabel==5.4.2 global-land-mask==1.0.0 scikit-learn"
    reason = f"NOT CHECKED: real data, for there is no {', '.join(missing)} ({install})"
    return pytest.mark.skipif(bool(missing), reason=reason)


needs_atlases = pytest.mark.skipif(
    not (MRICRON / "aal.nii.gz").exists() or importlib.util.find_spec("nibabel") is None,
    reason="NOT CHECKED: label atlases, for there is no mricron-data (apt install mricron-data) or no nibabel")


def folder_of(package, *parts):
    return Path(next(iter(importlib.util.find_spec(package).submodule_search_locations)), *parts)


def picture(name):
    return skimage.io.imread(folder_of("skimage", "data", name))


def blocks_of(x, kernel, fill):
    """The blocks of x, flat along the last axis, padded with `fill` behind the ends."""
    padded = np.pad(x, [(0, -n % k) for n, k in zip(x.shape, kernel)], constant_values=fill)
    shape = [m for n, k in zip(padded.shape, kernel) for m in (n // k, k)]
    outer = [2 * i for i in range(x.ndim)] + [2 * i + 1 for i in range(x.ndim)]
    whole = padded.reshape(shape).transpose(outer)
    return whole.reshape(*whole.shape[: x.ndim], -1)


def block_sums(x, kernel):
    """Exact sums of blocks, partial ones at the ends, and how many elements each has."""
    sums, counts = x.astype(np.int64), np.ones((1,) * x.ndim, np.int64)
    for axis, (n, k) in enumerate(zip(x.shape, kernel)):
        begins = np.arange(0, n, k)
        sums = np.add.reduceat(sums, begins, axis)
        shape = [1] * x.ndim
        shape[axis] = len(begins)
        counts = counts * np.minimum(n - begins, k).reshape(shape)
    return sums, counts


def rounded_means(x, kernel):
    """Half to even, by integers alone."""
    sums, counts = block_sums(x, kernel)
    twice = 2 * sums + counts
    means = twice // (2 * counts)
    return (means - ((twice % (2 * counts) == 0) & (means % 2 == 1))).astype(x.dtype)


# -- scikit-image's pictures


def test_disparities_without_their_infinities():
    disparity = np.load(folder_of("skimage", "data", "motorcycle_disp.npz"))["arr_0"]
    assert disparity.shape == (500, 741) and disparity.dtype == np.float32 and np.isinf(disparity).sum() == 27226
    known = np.where(np.isinf(disparity), np.nan, disparity)
    blocks = blocks_of(known.astype(np.float64), (4, 4), np.nan)
    empty = np.isnan(blocks).all(-1)
    assert empty.any() and not empty.all()
    keywords = {"ceil_mode": True, "nodata": np.inf, "min_count": 1}
    mean = oriel.avg_pool(disparity, 4, count_include_pad=False, **keywords)
    median = oriel.median_pool(disparity, 4, method="mean", **keywords)
    spread = oriel.std_pool(disparity, 4, **keywords)
    for ours, theirs in ((mean, np.nanmean), (median, np.nanmedian), (spread, np.nanstd)):
        assert (ours[empty] == np.inf).all()  # the result of a block without numbers is nodata
        np.testing.assert_allclose(ours[~empty], theirs(blocks[~empty], axis=-1), rtol=2e-6, atol=1e-5)
    np.testing.assert_array_equal(oriel.median_pool(known, 4, method="mean", ceil_mode=True, nan_policy="omit")[~empty],
                                  median[~empty])
    # A hole no wider than the window is filled by what is around it, and nothing else is needed for it.
    filled = oriel.median_pool(disparity, 15, 1, 7, nodata=np.inf, min_count=1)
    assert np.isinf(filled).sum() < np.isinf(disparity).sum() / 4


def test_medians_of_a_camera_with_salt_and_pepper():
    camera = picture("camera.png")
    noisy = (random_noise(camera, "s&p", rng=1, amount=0.2) * 255).round().astype(np.uint8)

    def ratio(image):
        return 10 * np.log10(255**2 / np.mean((image.astype(float) - camera) ** 2))

    for size in (3, 5, 7):
        ours = oriel.ndimage.median_filter(noisy, size)
        np.testing.assert_array_equal(ours, scipy.ndimage.median_filter(noisy, size))
        assert ratio(ours) > ratio(noisy) + 10
    # Leaving black and white out is better than any plain median.
    trusted = oriel.median_pool(noisy, 5, 1, 2, mask=(noisy > 0) & (noisy < 255), min_count=1)
    repaired = np.where((noisy > 0) & (noisy < 255), noisy, trusted)
    best = max(ratio(oriel.ndimage.median_filter(noisy, size)) for size in (3, 5, 7))
    assert ratio(repaired) > best + 2


def test_a_page_in_shadow():
    page = picture("page.png")
    for name, keywords in (("sauvola", {"k": 0.2}), ("niblack", {"k": 0.8})):
        ours = getattr(oriel.skimage.filters, f"threshold_{name}")(page, 25, **keywords)
        theirs = getattr(skimage.filters, f"threshold_{name}")(page, 25, **keywords)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        assert ((page > ours) == (page > theirs)).mean() > 0.9999
    black = (page <= oriel.skimage.filters.threshold_sauvola(page, 25)).mean()
    assert 0.05 < black < 0.15  # letters on paper; a threshold for all of it makes half the page black


@pytest.mark.parametrize("name", ["coins.png", "cell.png", "page.png"])
def test_morphology_of_pictures(name):
    image = picture(name)
    disk = skimage.morphology.disk(9)
    for function in ("erosion", "dilation", "opening", "closing", "white_tophat", "black_tophat"):
        ours = getattr(oriel.skimage.morphology, function)(image, disk)
        np.testing.assert_array_equal(ours, getattr(skimage.morphology, function)(image, disk))


@pytest.mark.parametrize("name", ["hubble_deep_field.jpg", "retina.jpg"])
def test_levels_of_large_pictures(name):
    """Channels last; every level is that of the picture itself."""
    image = picture(name)
    assert image.ndim == 3 and image.shape[2] == 3
    for k in (2, 4, 8, 16):
        ours = oriel.avg_pool(image, k, axes=(0, 1), ceil_mode=True, count_include_pad=False)
        np.testing.assert_array_equal(ours, rounded_means(image, (k, k, 1)))
    corner = image[-203:, -202:]
    blocks = blocks_of(corner.astype(float), (4, 4, 1), np.nan)
    np.testing.assert_allclose(
        oriel.quantile_pool(corner, 0.9, 4, axes=(0, 1), ceil_mode=True, method="linear", dtype="float64"),
        np.nanquantile(blocks, 0.9, axis=-1), rtol=1e-14)


@needs("sklearn")
@pytest.mark.parametrize("name", ["china.jpg", "flower.jpg"])
def test_levels_of_photographs(name):
    image = skimage.io.imread(folder_of("sklearn", "datasets", "images", name))
    assert image.shape == (427, 640, 3)
    for k in (2, 3, 8):
        ours = oriel.avg_pool(image, k, axes=(0, 1), ceil_mode=True, count_include_pad=False)
        np.testing.assert_array_equal(ours, rounded_means(image, (k, k, 1)))


# -- brains


def levels_affine(affine, factor):
    """Of blocks of `factor` voxels: the centre of the first is half a block, less half a voxel, from the first voxel's."""
    block = np.eye(4)
    block[:3, :3] *= factor
    block[:3, 3] = (factor - 1) / 2
    return affine @ block


@needs("nilearn", "nibabel")
@pytest.mark.parametrize("part", ["t1", "gm", "wm"])
def test_levels_of_a_template(part):
    """Five levels of the MNI152 template, whose extents are all odd."""
    import nibabel

    file = folder_of("nilearn", "datasets", "data", f"mni_icbm152_{part}_tal_nlin_sym_09a_converted.nii.gz")
    template = nibabel.load(file)
    volume = np.asarray(template.dataobj)
    assert volume.shape == (197, 233, 189) and volume.dtype == np.uint8
    shapes = [(99, 117, 95), (50, 59, 48), (25, 30, 24), (13, 15, 12), (7, 8, 6)]
    for factor, shape in zip((2, 4, 8, 16, 32), shapes):
        level = oriel.avg_pool(volume, factor, ceil_mode=True, count_include_pad=False)
        assert level.shape == shape
        np.testing.assert_array_equal(level, rounded_means(volume, (factor,) * 3))
        sums = oriel.sum_pool(volume, factor, ceil_mode=True, dtype=np.int64)
        assert sums.sum() == volume.sum(dtype=np.int64)
        np.testing.assert_array_equal(sums, block_sums(volume, (factor,) * 3)[0])
    # The places of the voxels, pooled as the volume is, are those that the affine of the level says.
    world = np.stack(np.meshgrid(*map(np.arange, (48, 40, 32)), indexing="ij"), -1) @ template.affine[:3, :3].T
    world = world + template.affine[:3, 3]
    pooled = oriel.avg_pool(world, 8, axes=(0, 1, 2))
    affine = levels_affine(template.affine, 8)
    claimed = np.stack(np.meshgrid(*map(np.arange, (6, 5, 4)), indexing="ij"), -1) @ affine[:3, :3].T + affine[:3, 3]
    assert np.abs(pooled - claimed).max() < 1e-9


def modes(labels, factor, ignore=None):
    """The most frequent label of each block, the lowest of several, and how many labels the block has."""
    shape = [-(-n // factor) for n in labels.shape]
    places = np.meshgrid(*(np.arange(n) // factor for n in labels.shape), indexing="ij")
    block = np.ravel_multi_index(places, shape).ravel()
    pairs, counts = np.unique(block * 65536 + labels.ravel(), return_counts=True)
    block, label = pairs // 65536, pairs % 65536
    counts[label == ignore] = 0  # of the blocks that have nothing else it still is the first
    order = np.lexsort((label, -counts, block))
    firsts = order[np.searchsorted(block[order], np.arange(np.prod(shape)))]
    return label[firsts].reshape(shape), np.bincount(block).reshape(shape)


@needs_atlases
@pytest.mark.parametrize(("name", "shape", "kinds", "staying"), [
    ("aal", (181, 217, 181), 117, {2: (117, 117), 4: (117, 117), 8: (116, 117)}),
    ("inia19-NeuroMaps", (168, 206, 128), 725, {2: (608, 619), 4: (409, 429), 8: (200, 231)}),
])
def test_levels_of_atlases(name, shape, kinds, staying):
    """How many labels stay, with and without the background as a candidate, is `staying`."""
    import nibabel

    labels = np.asarray(nibabel.load(MRICRON / f"{name}.nii.gz").dataobj)
    assert labels.shape == shape and labels.dtype.kind in "ui" and len(np.unique(labels)) == kinds
    labels = labels.astype(labels.dtype.newbyteorder("="))
    for factor in (2, 4, 8):
        plain = oriel.mode_pool(labels, factor, ceil_mode=True)
        inner = oriel.mode_pool(labels, factor, ceil_mode=True, ignore=0)
        kinds_of = oriel.nunique_pool(labels, factor, ceil_mode=True)
        expected, distinct = modes(labels, factor)
        np.testing.assert_array_equal(plain, expected)
        np.testing.assert_array_equal(kinds_of, distinct)
        np.testing.assert_array_equal(inner, modes(labels, factor, 0)[0])
        assert set(np.unique(inner)) <= set(np.unique(labels))  # no label is new
        # Without the background as a candidate more of the small regions stay.
        assert (len(np.unique(plain)), len(np.unique(inner))) == staying[factor]
        volumes = np.bincount(labels.ravel())
        coarse = np.bincount(plain.ravel(), minlength=len(volumes)) * factor**3
        large = volumes > 2000
        assert np.median(np.abs(coarse[large] / volumes[large] - 1)) < (0.13 if factor == 8 else 0.04)


@needs_atlases
def test_filters_of_a_brain():
    import nibabel

    brain = np.asarray(nibabel.load(MRICRON / "inia19-t1-brain.nii.gz").dataobj)
    brain = np.ascontiguousarray(brain[40:120, 50:150, 30:90]).astype(np.float32)
    np.testing.assert_array_equal(oriel.ndimage.median_filter(brain, 3), scipy.ndimage.median_filter(brain, 3))
    mean, spread = (oriel.avg_pool(brain, 7, 1), oriel.std_pool(brain, 7, 1))
    wide = brain.astype(np.float64)
    inner = (slice(3, -3),) * 3
    expected = scipy.ndimage.uniform_filter(wide, 7)[inner]
    np.testing.assert_allclose(mean, expected, rtol=1e-5, atol=1e-4)
    variance = scipy.ndimage.uniform_filter(wide**2, 7)[inner] - expected**2
    np.testing.assert_allclose(spread, np.sqrt(np.maximum(variance, 0)), rtol=1e-4, atol=1e-3 * np.abs(wide).max())


@needs("nibabel")
def test_volumes_over_time_are_pooled_in_space():
    import nibabel

    image = nibabel.load(folder_of("nibabel", "tests", "data", "example4d.nii.gz"))
    volume = np.asarray(image.dataobj)
    assert volume.shape == (128, 96, 24, 2) and volume.dtype.kind == "i"
    kernel = (2, 2, 2)  # voxels of 2 x 2 x 2.2 mm
    ours = oriel.median_pool(volume, kernel, axes=(0, 1, 2))
    blocks = blocks_of(volume, (*kernel, 1), 0)
    np.testing.assert_array_equal(ours, np.sort(blocks, -1)[..., 3])
    for time in range(2):
        np.testing.assert_array_equal(oriel.median_pool(volume[..., time], kernel), ours[..., time])
    np.testing.assert_array_equal(oriel.avg_pool(volume, kernel, axes=(0, 1, 2)), rounded_means(volume, (*kernel, 1)))


@needs("nibabel")
@pytest.mark.parametrize(("name", "order"), [("anatomical.nii", ">"), ("functional.nii", "<")])
def test_files_of_both_byte_orders(name, order):
    import dask.array as da
    import nibabel

    import oriel.dask

    image = nibabel.load(folder_of("nibabel", "tests", "data", name))
    stored = image.dataobj.get_unscaled()
    assert stored.dtype.byteorder.replace("=", "<") == order and stored.dtype.itemsize > 1
    native = np.asarray(stored).astype(stored.dtype.newbyteorder("="))
    axes = (0, 1, 2)
    keywords = {"axes": axes, "ceil_mode": True}
    for pool in (oriel.median_pool, oriel.max_pool, oriel.mode_pool, oriel.std_pool):
        np.testing.assert_array_equal(pool(np.asarray(stored), 2, **keywords), pool(native, 2, **keywords))
    chunks = tuple(max(n // 2, 1) for n in stored.shape)
    theirs = oriel.dask.pool(da.from_array(stored, chunks=chunks), "median", 2, axes=axes, ceil_mode=True)
    np.testing.assert_array_equal(theirs.compute(), oriel.median_pool(native, 2, **keywords))
    # Slopes commute with means: pooling what is stored, then scaling, is pooling what is meant.
    slope, inter = float(image.dataobj.slope), float(image.dataobj.inter)
    meant = oriel.avg_pool(np.asarray(image.dataobj, np.float64), 2, count_include_pad=False, **keywords)
    scaled = oriel.avg_pool(native, 2, dtype="float64", count_include_pad=False, **keywords) * slope + inter
    np.testing.assert_allclose(meant, scaled, rtol=1e-12, atol=1e-9)


# -- the Earth

LAND = """
import resource, sys
import numpy as np
import oriel

file, rows, columns = sys.argv[1], 21600, 43200
latitudes = 90 - (np.arange(rows) + 0.5) / 120
weights = np.cos(np.radians(latitudes))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
results = {name: [] for name in ("any", "all", "land", "share")}
with open(file, "rb") as data:
    for row in range(0, rows, 120):
        cells = np.frombuffer(data.read(120 * columns), np.bool_).reshape(120, columns)
        results["any"].append(oriel.any_pool(cells, 120))
        results["all"].append(oriel.all_pool(cells, 120))
        results["land"].append(oriel.sum_pool(cells, 120, dtype=np.int64))
        areas = np.broadcast_to(weights[row:row + 120, None], cells.shape)
        results["share"].append(oriel.avg_pool(cells, 120, weights=areas, count_include_pad=False, dtype="float32"))
np.savez(sys.argv[2], memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before,
         **{name: np.concatenate(parts) for name, parts in results.items()})
"""


@needs("global_land_mask")
def test_land_in_little_memory(tmp_path):
    """933 million cells to degrees, in slabs: any and all land, its area, with less than 256 MiB."""
    ocean = np.load(folder_of("global_land_mask", "globe_combined_mask_compressed.npz"))["mask"]
    assert ocean.shape == (21600, 43200) and ocean.dtype == np.bool_
    land = ~ocean
    file, out = tmp_path / "land.bin", tmp_path / "degrees.npz"
    land.tofile(file)
    subprocess.run([sys.executable, "-c", LAND, str(file), str(out)], check=True)
    degrees = np.load(out)
    assert degrees["memory"] < 256 * 1024, degrees["memory"]
    counts = np.zeros((180, 360), np.int64)
    for row in range(180):
        counts[row] = land[row * 120 : (row + 1) * 120].reshape(120, 360, 120).sum((0, 2), dtype=np.int64)
    np.testing.assert_array_equal(degrees["land"], counts)
    np.testing.assert_array_equal(degrees["any"], counts > 0)
    np.testing.assert_array_equal(degrees["all"], counts == 120 * 120)
    assert degrees["land"].sum() == np.count_nonzero(land)
    weights = np.cos(np.radians(90 - (np.arange(21600) + 0.5) / 120))
    per_row = land.sum(1, dtype=np.int64)
    exact = (per_row * weights).sum() / (43200 * weights.sum())
    areas = weights.reshape(180, 120).sum(1)[:, None] * 120
    share = (degrees["share"].astype(np.float64) * areas).sum() / (areas.sum() * 360)
    assert abs(share - exact) < 1e-7 and 0.25 < exact < 0.4
