function test_pool()
% Values, classes and errors, against loops.
  x = reshape(mod((1:42) * 17, 43) - 20, 6, 7);
  assert(isequal(oriel.pool(x, 2), naive(x, 2, @(w) max(w(:)))));
  assert(isequal(oriel.pool(x, 3, 'op', 'sum'), naive(x, 3, @(w) sum(w(:)))));
  for class = {'single', 'int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64'}
    y = oriel.pool(cast(x, class{1}), 2, 'op', 'min');
    assert(isa(y, class{1}) && isequal(y, naive(cast(x, class{1}), 2, @(w) min(w(:)))));
  end
  assert(isequal(oriel.pool(x > 0, 2), naive(x > 0, 2, @(w) any(w(:)))));

  % Axes are Octave's: the first is the innermost, and lists go with them.
  volume = reshape(mod((1:120) * 7, 121), 4, 5, 6);
  assert(isequal(oriel.pool(volume, 2, 'axes', 1), max(volume(1:2:end, :, :), volume(2:2:end, :, :))));
  assert(isequal(size(oriel.pool(volume, [2 3], 'axes', [1 3])), [2 5 2]));
  assert(isequal(size(oriel.pool(volume, [], 'output_size', [2 1 3])), [2 1 3]));
  assert(isequal(oriel.pool(x, [], 'global', true, 'op', 'avg'), mean(x(:))));

  [y, indices] = oriel.pool(x, 2);
  assert(isequal(x(indices), y));
  back = oriel.unpool(y, indices, size(x));
  assert(isequal(back(indices), y) && nnz(back) == nnz(y));
  dx = oriel.pool_gradient(x, ones(size(y)), [], 2);
  assert(isequal(dx, oriel.pool_gradient(x, ones(size(y)), indices, 2)) && isequal(find(dx == 1), sort(indices(:))));
  [y, indices] = oriel.pool([5; 6], 1, 'stride', 1, 'padding', {[0 0], [1 0]});
  assert(isequal(y, [5; 6; -Inf]) && isnan(indices(3)));
  assert(isnan(oriel.pool([1 NaN], [1 2])) && oriel.pool([1 NaN], [1 2], 'omit_nan', true) == 1);

  expect('stride must be >= 1', @() oriel.pool(x, 2, 'stride', 0));
  expect('real and full', @() oriel.pool(complex(x, x), 2));
  expect('numeric or logical', @() oriel.pool({1}, 2));
  expect('axes must be whole numbers of 1 to 2', @() oriel.pool(x, 2, 'axes', 3));
  expect('kernel must be whole numbers', @() oriel.pool(x, 2.5));
  expect('allowed names: op, stride', @() oriel.pool(x, 2, 'strides', 1));
  expect('indices must be 1 or larger', @() oriel.unpool([1 2], [0 1], [1 4]));
  expect('x must have 6 elements of dtype f32', @() oriel_mex('named', 'max:f32:6:k2', 1:2, [], -1, -1, 0));
  expect('nonsense', @() oriel_mex('target', 'nonsense'));
  disp('test_pool: all is as it should be');
end

function out = naive(x, k, f)
  for i = floor(size(x, 1) / k):-1:1
    for j = floor(size(x, 2) / k):-1:1
      out(i, j) = f(x((i - 1) * k + (1:k), (j - 1) * k + (1:k)));
    end
  end
end

function expect(words, f)
  text = 'no error';
  try
    f();
  catch e
    text = e.message;
  end
  assert(~isempty(strfind(text, words)), text);
end
