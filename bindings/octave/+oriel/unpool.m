function x = unpool(y, indices, dim, axes, threads)
% UNPOOL  Put the results of a pool back to where they were.
%   X = ORIEL.UNPOOL(Y, INDICES, DIM) is an array of zeros of size DIM with X(INDICES) = Y; AXES are the pooled axes, []
%   for all.
  if nargin < 4, axes = []; end
  if nargin < 5, threads = 0; end
  rank = numel(dim);
  x = oriel_mex('unpool', y, double(indices), fliplr(double(dim(:).')), oriel.reversed(axes, rank), threads);
end
