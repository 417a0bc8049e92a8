# An R array of dimensions c(a, b, c) is, in memory, a tensor of shape c, b, a: axes and lists are reversed on the way.

ops <- c(max = 0L, min = 1L, avg = 2L, sum = 3L, lp = 4L)
dtypes <- c(double = 0L, raw = 5L, integer = 8L, logical = 12L)

# The elements as the library has them, and what they are. Logical values are copied into bytes.
elements <- function(x, what) {
  kind <- typeof(x)
  if (!kind %in% names(dtypes)) {
    stop(what, " must be double, integer, logical or raw, but is ", kind)
  }
  if (kind == "logical") {
    if (anyNA(x)) stop(what, " must have no NA if it is logical")
    return(list(values = as.raw(x), dtype = dtypes[[kind]]))
  }
  list(values = x, dtype = dtypes[[kind]])
}

shape_of <- function(x) rev(as.double(if (is.null(dim(x))) length(x) else dim(x)))

# Results in R's form: logical again, with dimensions if x had some.
restore <- function(values, x, shape) {
  if (is.logical(x)) values <- as.logical(values)
  if (!is.null(dim(x))) dim(values) <- rev(shape)
  values
}

reversed_axes <- function(axes, rank) {
  if (is.null(axes)) return(numeric(0))
  if (any(axes != round(axes)) || any(axes < 1) || any(axes > rank)) {
    stop("axes must be whole numbers of 1 to ", rank, ", but are ", paste(axes, collapse = ", "))
  }
  rev(rank - as.double(axes))
}

problem <- function(x, dtype, kernel, op, stride = NULL, padding = NULL, dilation = NULL, axes = NULL,
                    output_size = NULL, global = FALSE, same = FALSE, ceil_mode = FALSE, count_include_pad = TRUE,
                    divisor = 0, norm = 2, na_rm = FALSE) {
  if (!is.list(padding)) padding <- list(padding, NULL)
  lists <- list(kernel, stride, padding[[1]], padding[[2]], dilation, output_size)
  values <- max(lengths(lists))
  lists <- lapply(lists, function(list) {
    if (is.null(list)) return(NULL)
    if (!length(list) %in% c(1, values)) {
      stop("lists must have 1 value or as many as the others, ", values, ", but one has ", length(list))
    }
    rev(rep_len(as.double(list), values))
  })
  kind <- if (global) 2L else if (is.null(output_size)) 0L else 1L
  words <- c(ops[[op]], kind, as.integer(same), as.integer(na_rm), as.integer(ceil_mode),
             as.integer(!count_include_pad), values, dtype)
  shape <- shape_of(x)
  numbers <- c(as.double(divisor), if (op == "lp") as.double(norm) else 0)
  .Call(C_make, words, numbers, lists, reversed_axes(axes, length(shape)), shape)
}

pool <- function(x, kernel = NULL, op = c("max", "min", "avg", "sum", "lp"), ..., indices = FALSE, threads = 0) {
  op <- match.arg(op)
  e <- elements(x, "x")
  p <- problem(x, e$dtype, kernel, op, ...)
  shape <- .Call(C_info, p)$shapes$output_shape
  out <- .Call(C_forward, p, e$values, indices, threads)
  if (!indices) return(restore(out, x, shape))
  list(y = restore(out$y, x, shape), indices = restore(out$indices, as_double(x), shape))
}

# A stand-in that has the dimensions of x and is not logical.
as_double <- function(x) if (is.null(dim(x))) 0 else array(0, rep_len(1, length(dim(x))))

pool_gradient <- function(x, dy, kernel = NULL, op = c("max", "min", "avg", "sum", "lp"), ..., indices = NULL,
                          threads = 0) {
  op <- match.arg(op)
  e <- elements(x, "x")
  d <- elements(dy, "dy")
  if (e$dtype != d$dtype) stop("dy must be ", typeof(x), " as x is, but is ", typeof(dy))
  p <- problem(x, e$dtype, kernel, op, ...)
  if (!is.null(indices)) indices <- as.double(indices)
  out <- .Call(C_backward, p, if (is.null(indices)) e$values, d$values, indices, threads)
  restore(out, x, shape_of(x))
}

unpool <- function(y, indices, dim, axes = NULL, threads = 0) {
  e <- elements(y, "y")
  shape <- rev(as.double(dim))
  out <- .Call(C_unpool, e$values, as.double(indices), e$dtype, shape_of(y), shape,
               reversed_axes(axes, length(shape)), threads)
  restore(out, y, shape)
}

run_named <- function(name, x, dy = raw(0), space = c("named", "plane", "tensor", "window"),
                      index_dtype = c("named", "i32"), unpool = FALSE) {
  p <- .Call(C_parse, as.character(name)[1])
  space <- match(match.arg(space), c("named", "plane", "tensor", "window")) - 2L
  index_dtype <- if (match.arg(index_dtype) == "i32") 8L else -1L
  .Call(C_named, p, x, dy, space, index_dtype, unpool)
}

oriel_target <- function(name = NULL) .Call(C_target, name)

oriel_version <- function() .Call(C_version)
