function [y, indices] = pool(x, varargin)
% POOL  Make one number of each window of an array.
%   Y = ORIEL.POOL(X, KERNEL) is the largest element of each window of KERNEL elements: one number for all axes or one
%   for each. X is real and full, of any numeric class or logical; Y has its class. The bits of Y are the same on every
%   processor and for every number of threads.
%   [Y, INDICES] = ORIEL.POOL(...) also says where each maximum or minimum was: from 1, counting the pooled axes alone as
%   linear indices do; NaN if a window has no element.
%   Y = ORIEL.POOL(X, KERNEL, NAME, VALUE, ...):
%     'op'           'max', 'min', 'avg', 'sum' or 'lp' (with 'norm', 2 unless given)
%     'stride'       from a window to the next; KERNEL unless given
%     'padding'      before and after X, or {before, after}
%     'dilation'     distance of a window's elements
%     'axes'         those that are pooled; all unless given
%     'output_size'  instead of KERNEL, which is []: so many windows that share X evenly
%     'global'       true, instead of KERNEL: one window over everything
%     'same', 'ceil_mode', 'omit_nan'         true or false
%     'count_include_pad', 'divisor'          of averages
%     'threads'      to use at most; 0: all
%   Example: y = oriel.pool(rand(6, 8, 'single'), 3, 'op', 'avg', 'stride', 2, 'padding', 1)
  [spec, threads] = oriel.spec(ndims(x), varargin{:});
  if nargout > 1
    [y, indices] = oriel_mex('forward', spec{:}, x, threads);
  else
    y = oriel_mex('forward', spec{:}, x, threads);
  end
end
