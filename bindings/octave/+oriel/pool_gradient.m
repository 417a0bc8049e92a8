function dx = pool_gradient(x, dy, indices, varargin)
% POOL_GRADIENT  The gradient of a pool.
%   DX = ORIEL.POOL_GRADIENT(X, DY, INDICES, KERNEL, ...) is the gradient of ORIEL.POOL(X, KERNEL, ...), given that of its
%   result. INDICES are those that ORIEL.POOL gave, or [].
  [spec, threads] = oriel.spec(ndims(x), varargin{:});
  dx = oriel_mex('backward', spec{:}, x, dy, double(indices), threads);
end
