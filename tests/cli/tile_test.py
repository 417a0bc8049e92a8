"""`oriel tile`: what a kernel of the tile language becomes."""

TUTORIAL = ["tile", "tensor_avgpool_kernel", "--shape", "2x6x6", "--set", "pool_size=2", "--dtype", "f16"]


def text_of(oriel, *arguments, code=0):
    return oriel(*arguments, code=code).stdout.decode()


def test_all_parts(oriel):
    text = text_of(oriel, *TUTORIAL)
    for part in ("ir", "picture", "checks", "report", "nki", "cuda"):
        assert f"== {part}\n" in text
    assert "[[36,2],[12,3],[2,3],[6,2],[1,2]]" in text
    assert "trn2: no issues found" in text
    assert "exact   hbm->sbuf 144 B in 1 dma" in text


def test_one_part(oriel):
    new, old = (text_of(oriel, *TUTORIAL, "--only", "nki", "--nki", v) for v in ("0.6", "0.1"))
    assert "nisa.tensor_reduce(" in new and "nl.sum(" in old
    for text in (new, old):
        compile(text, "emitted", "exec")


def test_cuda(oriel):
    text = text_of(oriel, *TUTORIAL, "--only", "cuda")
    assert "__global__ void __launch_bounds__(32) tensor_avgpool_kernel(" in text
    assert "  value = __fadd_rn(value, widened(in0[36*partition + 12*a1 + 2*a2 + 6*a3 + a4]));\n" in text


def test_the_picture(oriel):
    text = text_of(oriel, *TUTORIAL, "--only", "picture")
    rows = [line.strip() for line in text.splitlines()[-6:]]
    assert rows == ["a a b b c c", "a a b b c c", "d d e e f f", "d d e e f f", "g g h h i i", "g g h h i i"]
    assert text.splitlines()[1:6] == [
        "  P   [36, 2]    the next partition",
        "  F1  [12, 3]    2 rows down",
        "  F2  [6, 2]     1 row down, reduced",  # the tutorial's figure: reduced on F2 and F4
        "  F3  [2, 3]     2 columns to the right",
        "  F4  [1, 2]     1 column to the right, reduced",
    ]


def test_a_machine_that_cannot(oriel):
    large = ["tile", "tensor_avgpool_kernel", "--shape", "2x224x224", "--set", "pool_size=2", "--only", "checks"]
    for machine, code in (("trn1", 1), ("trn2", 1), ("trn3", 1), ("native", 0)):
        text = text_of(oriel, *large, "--machine", machine, code=code)
        assert ("error SBUF1: " in text) == (code == 1)
    banded = ["tile", "avg_pool2d", "--shape", "2x224x224", "--set", "kernel=2", "--only", "checks", "--machine", "trn1"]
    assert text_of(oriel, *banded) == "trn1: no issues found\n"


def test_list_and_bad_input(oriel, refusal):
    names = [line.split()[0] for line in text_of(oriel, "tile", "list").splitlines()[::2]]
    assert "max_pool2d_backward" in names and len(names) == 7
    assert "KERNEL must be one of tensor_avgpool_kernel" in refusal("tile", "pool", "--shape", "2x6x6", code=2)
    assert "--shape: must have 3 extents, but has 2" in refusal("tile", "max_pool2d", "--shape", "6x6", code=2)
    assert "parameter kernel must be given" in refusal("tile", "max_pool2d", "--shape", "2x6x6", code=1)
    assert "--set: must be NAME=N" in refusal("tile", "max_pool2d", "--shape", "2x6x6", "--set", "kernel", code=2)
    for values, text in ((["kernel=0"], "kernel must be >= 1, but is 0"), (["kernel=7"], "covers 7 of 6 rows"),
                         (["kernel=2", "stride_w=0"], "stride must be >= 1, but is 0"),
                         (["kernel=2", "padding=2147483647"], "at most 1073741823 rows, but has 4294967300")):
        options = [word for value in values for word in ("--set", value)]
        assert text in refusal("tile", "max_pool2d", "--shape", "2x6x6", *options, code=1)
    assert "pool_size must be 1 to 6" in refusal("tile", TUTORIAL[1], "--shape", "2x6x6", "--set", "pool_size=0", code=1)
