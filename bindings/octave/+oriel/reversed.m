function out = reversed(axes, rank)
% REVERSED  Axes from 1 as those of a tensor of the same memory, from 0.
  axes = double(axes(:).');
  if any(axes ~= round(axes)) || any(axes < 1) || any(axes > rank)
    error('oriel:invalid', 'axes must be whole numbers of 1 to %d', rank);
  end
  out = fliplr(rank - axes);
end
