% The largest of each 2x2 of a matrix, where it was, and back.
x = single(reshape(mod((0:23) * 7, 24), 4, 6))
[y, indices] = oriel.pool(x, 2)
oriel.unpool(y, indices, size(x))
mean_of_three = oriel.pool(x, 3, 'op', 'avg', 'stride', 1, 'padding', 1, 'count_include_pad', false)
