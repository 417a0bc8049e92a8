# The largest of each 2x2 of a matrix, where it was, and the gradient that goes back there.
library(oriel)

x <- matrix(as.double((0:23 * 7) %% 24), 6)
largest <- pool(x, 2, indices = TRUE)
print(largest$y)
print(largest$indices)

dx <- pool_gradient(x, largest$y, 2, indices = largest$indices)
cat(sum(dx > 0), "inputs have a gradient\n")
print(pool(x, 3, "avg", stride = 2, padding = 1, count_include_pad = FALSE))
tryCatch(pool(x, 9), error = function(e) cat(conditionMessage(e), "\n"))
