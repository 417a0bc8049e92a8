# The shared vectors (tests/vectors/vectors.txt in Oriel's sources, whose head says what they are): ORIEL_VECTORS names the
# file. The first 400 lines, and of the others every thirtieth that is small, since this is plain R.
library(oriel)

file <- Sys.getenv("ORIEL_VECTORS")
if (file == "") {
  message("SKIPPED, NOT TESTED: ORIEL_VECTORS does not name the shared vectors")
  quit(status = 0)
}

sizes <- c(f64 = 8, f32 = 4, f16 = 2, bf16 = 2, i8 = 1, u8 = 1, i16 = 2, u16 = 2, i32 = 4, u32 = 4, i64 = 8, u64 = 8, bool = 1)
fractions <- c(f64 = 52, f32 = 23, f16 = 10, bf16 = 7)
biases <- c(f64 = 1023, f32 = 127, f16 = 15, bf16 = 127)

# n values of the generator; all arithmetic is exact in doubles.
words <- function(n, seed) {
  out <- numeric(n)
  for (i in seq_len(n)) out[i] <- seed <- (seed * 1664525 + 1013904223) %% 4294967296
  out
}
bits_from <- function(s, from, count) floor(s / 2^from) %% 2^count

# Elements as rows of low and high halves of their bits; types of up to 32 bits have a high half of 0.
halves <- function(low, high = 0 * low) rbind(low, high)
with_sign <- function(type, negative, upper) {
  if (type == "f64") halves(0 * upper, negative * 2^31 + upper) else halves(negative * 2^(8 * sizes[[type]] - 1) + upper)
}
# Bits whose field of exponent and highest bits of the fraction are given.
small_numbers <- function(type, n) {
  m <- abs(n)
  power <- ifelse(m >= 4, 2, ifelse(m >= 2, 1, 0))
  fraction <- if (type == "f64") 20 else fractions[[type]]
  upper <- (biases[[type]] + power) * 2^fraction + (m - 2^power) * 2^(fraction - power)
  with_sign(type, n < 0, ifelse(m == 0, 0, upper))
}
infinity <- function(type) (2 * biases[[type]] + 1) * 2^(if (type == "f64") 20 else fractions[[type]])
specials <- function(type, c) {
  out <- small_numbers(type, c %% 8 - 4)
  fraction <- if (type == "f64") 20 else fractions[[type]]
  upper <- c(infinity(type) + 2^(fraction - 1), infinity(type), infinity(type), 0, 0, 0, 0)
  for (k in 0:6) out[, c == k] <- with_sign(type, as.numeric(k %in% c(2, 3, 6)), upper[k + 1])
  out[1, c %in% 5:6] <- out[1, c %in% 5:6] + 1
  out
}

elements <- function(type, data, n, seed) {
  if (type == "bool") return(halves(bits_from(words(n, seed), 31, 1)))
  floating <- type %in% names(fractions)
  if (data == "specials") return(specials(type, bits_from(words(n, seed), 27, 5)))
  if (data == "ties" && floating) return(small_numbers(type, bits_from(words(n, seed), 29, 3) - 4))
  if (data == "ties") {
    v <- bits_from(words(n, seed), 29, 3) - if (startsWith(type, "i")) 4 else 0
    width <- 2^min(32, 8 * sizes[[type]])
    return(halves(v %% width, if (sizes[[type]] == 8) ifelse(v < 0, 4294967295, 0) else 0 * v))
  }
  s <- words(if (sizes[[type]] == 8) 2 * n else n, seed)
  if (sizes[[type]] == 8) {
    first <- s[c(TRUE, FALSE)]
    second <- s[c(FALSE, TRUE)]
    if (!floating) return(halves(second, first))
    return(with_sign(type, bits_from(first, 31, 1), (1015 + bits_from(first, 27, 4)) * 2^20 + bits_from(first, 7, 20)) + halves(second))
  }
  if (!floating) return(halves(floor(s / 2^(32 - 8 * sizes[[type]]))))
  f <- fractions[[type]]
  with_sign(type, bits_from(s, 31, 1), (biases[[type]] - 8 + bits_from(s, 27, 4)) * 2^f + bits_from(s, 27 - f, f))
}

to_raw <- function(type, e) {
  size <- sizes[[type]]
  bytes <- sapply(seq_len(size) - 1, function(b) floor(e[1 + b %/% 4, ] / 256^(b %% 4)) %% 256)
  bytes <- matrix(bytes, ncol = size)
  if (.Platform$endian == "big") bytes <- bytes[, rev(seq_len(size)), drop = FALSE]
  as.raw(t(bytes))
}

# Bytes of elements, the lowest first, any NaN as the quiet one.
canonical <- function(type, memory) {
  size <- sizes[[type]]
  bytes <- matrix(as.integer(memory), nrow = size)
  if (.Platform$endian == "big") bytes <- bytes[rev(seq_len(size)), , drop = FALSE]
  if (!type %in% names(fractions) || ncol(bytes) == 0) return(as.vector(bytes))
  half <- function(rows) colSums(bytes[rows, , drop = FALSE] * 256^(seq_along(rows) - 1))
  upper <- if (type == "f64") half(5:8) else half(seq_len(size))
  upper <- upper %% 2^(if (type == "f64") 31 else 8 * size - 1)
  nan <- upper > infinity(type) | (type == "f64" & upper == infinity(type) & half(1:min(4, size)) > 0)
  quiet <- as.integer(to_raw(type, specials(type, 0)))
  if (.Platform$endian == "big") quiet <- rev(quiet)
  bytes[, nan] <- quiet
  as.vector(bytes)
}

# FNV-1a with the 64 bits in four numbers of 16; the prime is 2^40 + 435.
start <- c(0x2325, 0x8422, 0x9ce4, 0xcbf2)
fnv <- function(h, bytes) {
  h0 <- h[1]; h1 <- h[2]; h2 <- h[3]; h3 <- h[4]
  for (b in bytes) {
    h0 <- bitwXor(h0, b)
    t0 <- h0 * 435
    t1 <- h1 * 435 + t0 %/% 65536
    t2 <- h2 * 435 + h0 * 256 + t1 %/% 65536
    t3 <- h3 * 435 + h1 * 256 + t2 %/% 65536
    h0 <- t0 %% 65536; h1 <- t1 %% 65536; h2 <- t2 %% 65536; h3 <- t3 %% 65536
  }
  c(h0, h1, h2, h3)
}

problem_words <- function(name) strsplit(strsplit(name, "@", fixed = TRUE)[[1]][1], ":", fixed = TRUE)[[1]]

result <- function(name) {
  words <- strsplit(name, "@", fixed = TRUE)[[1]]
  type <- problem_words(name)[2]
  data <- c(intersect(words[-1], c("ties", "specials")), "numbers")[1]
  p <- .Call(oriel:::C_parse, words[1])
  shapes <- .Call(oriel:::C_info, p)$shapes
  x <- to_raw(type, elements(type, data, prod(shapes$shape), 1))
  dy <- to_raw(type, elements(type, data, prod(shapes$output_shape), 2))
  space <- c(intersect(words[-1], c("tensor", "window")), "named")[1]
  out <- run_named(words[1], x, dy, space, if ("i32" %in% words) "i32" else "named", "unpool" %in% words)
  if (!is.list(out)) return(fnv(start, canonical(type, out)))
  index <- if ("i32" %in% words) "i32" else if (grepl(":codes", words[1])) "u8" else "i64"
  fnv(fnv(start, canonical(type, out$y)), canonical(index, out$indices))
}

lines <- grep("^[^#]", readLines(file), value = TRUE)
small <- vapply(lines, function(line) prod(as.numeric(strsplit(problem_words(line)[3], "x")[[1]])) <= 1000, TRUE)
lines <- c(lines[1:400], lines[seq_along(lines) > 400 & small & seq_along(lines) %% 30 == 0])
wrong <- character(0)
for (line in lines) {
  parts <- strsplit(line, " ", fixed = TRUE)[[1]]
  hash <- paste(sprintf("%04x", as.integer(rev(result(parts[1])))), collapse = "")
  if (hash != parts[2]) wrong <- c(wrong, paste(line, "is", hash, "in R"))
}
cat(length(lines), "vectors in R on", oriel_target(), "by", oriel_version(), ":", length(wrong), "differ\n")
if (length(wrong) > 0) stop(paste(head(wrong, 20), collapse = "\n"))
stopifnot(length(lines) > 500)
