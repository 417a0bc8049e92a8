# Values, types and errors, against R's own loops.
library(oriel)

naive <- function(x, k, f) {
  out <- matrix(x[1], nrow(x) %/% k, ncol(x) %/% k)
  for (i in seq_len(nrow(out))) for (j in seq_len(ncol(out))) {
    out[i, j] <- f(x[(i - 1) * k + seq_len(k), (j - 1) * k + seq_len(k)])
  }
  out
}

message_of <- function(expression) tryCatch({ expression; "no error" }, error = conditionMessage)

x <- matrix((1:42 * 17) %% 43 - 20, 6)
stopifnot(identical(pool(x, 2), naive(x, 2, max)), identical(pool(x, 3, "min"), naive(x, 3, min)))
stopifnot(isTRUE(all.equal(pool(x, 2, "avg"), naive(x, 2, mean))), identical(pool(x, 2, "sum"), naive(x, 2, sum)))
whole <- x
storage.mode(whole) <- "integer"
stopifnot(identical(pool(whole, 2), naive(whole, 2, max)), identical(pool(x > 0, 2), naive(x > 0, 2, any)))
stopifnot(identical(pool(as.raw(c(1, 9, 3, 4)), 2), as.raw(c(9, 4))), identical(pool(c(1, 5, 2, 4), 2), c(5, 4)))

# Axes are R's: the first is the innermost, and lists go with them.
volume <- array(as.double((1:120 * 7) %% 121), c(4, 5, 6))
stopifnot(identical(pool(volume, 2, axes = 1), apply(volume, c(2, 3), function(v) c(max(v[1:2]), max(v[3:4])))))
stopifnot(identical(dim(pool(volume, c(2, 3), axes = c(1, 3))), c(2L, 5L, 2L)))
stopifnot(identical(dim(pool(volume, c(4, 1, 2))), c(1L, 5L, 3L)))

# Indices are those that which.max gives, and go back.
one <- pool(x, 6:7, indices = TRUE)
stopifnot(identical(as.vector(one$indices), as.double(which.max(x))), identical(as.vector(one$y), max(x)))
found <- pool(x, 2, indices = TRUE)
stopifnot(identical(x[found$indices], as.vector(found$y)))
back <- unpool(found$y, found$indices, dim(x))
stopifnot(identical(back[found$indices], as.vector(found$y)), sum(back != 0) == sum(found$y != 0))
ones <- found$y * 0 + 1
dx <- pool_gradient(x, ones, 2)
stopifnot(identical(dx, pool_gradient(x, ones, 2, indices = found$indices)), identical(which(dx == 1), as.integer(sort(found$indices))))
nothing <- pool(c(5, 6), 1, stride = 1, padding = list(0, 1), indices = TRUE)
stopifnot(identical(nothing$y, c(5, 6, -Inf)), is.na(nothing$indices[3]))

# NaN and NA.
stopifnot(is.nan(pool(c(1, NaN), 2)), identical(pool(c(1, NaN), 2, na_rm = TRUE), 1))

stopifnot(grepl("stride must be >= 1, but axis 0 has 0", message_of(pool(x, 2, stride = 0))))
stopifnot(grepl("must be double, integer, logical or raw, but is character", message_of(pool("a", 1))))
stopifnot(grepl("must have no NA", message_of(pool(c(TRUE, NA), 1))))
stopifnot(grepl("axes must be whole numbers of 1 to 2", message_of(pool(x, 2, axes = 3))))
stopifnot(grepl("kernel: must be whole numbers, but one is 2.5", message_of(pool(x, 2.5))))
stopifnot(grepl("indices: must be 1 or larger", message_of(unpool(c(1, 2), c(0, 1), 4))))
stopifnot(grepl("x: must have 24 bytes, but has 4", message_of(run_named("max:f32:6:k2", raw(4)))))
stopifnot(grepl("expected", message_of(run_named("nonsense", raw(0)))))
