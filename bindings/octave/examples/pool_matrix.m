% The largest of each 2x2 of a matrix, where it was, and the gradient that goes back there.
x = single(reshape(mod((0:23) * 7, 24), 6, 4));
[y, indices] = oriel.pool(x, 2);
fprintf('largest %s at %s\n', mat2str(y), mat2str(indices));

dx = oriel.pool_gradient(x, y, indices, 2);
fprintf('%d inputs have a gradient\n', nnz(dx));
mean_of_nine = oriel.pool(x, 3, 'op', 'avg', 'stride', 2, 'padding', 1, 'count_include_pad', false);
disp(mean_of_nine)
try
  oriel.pool(x, 9);
catch e
  disp(e.message)
end
