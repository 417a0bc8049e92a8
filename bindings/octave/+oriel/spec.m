function [spec, threads] = spec(rank, kernel, varargin)
% SPEC  What oriel_mex takes for a pool of an array with RANK axes; see ORIEL.POOL.
  if nargin < 2, kernel = []; end
  o = struct('op', 'max', 'stride', [], 'padding', [], 'dilation', [], 'axes', [], 'output_size', [], 'global', false, ...
             'same', false, 'ceil_mode', false, 'omit_nan', false, 'count_include_pad', true, 'divisor', 0, 'norm', 2, ...
             'threads', 0);
  for i = 1:2:numel(varargin)
    if i == numel(varargin) || ~ischar(varargin{i}) || ~isfield(o, varargin{i})
      error('oriel:invalid', 'options must be pairs of a name and a value; allowed names: %s', strjoin(fieldnames(o).', ', '));
    end
    o.(varargin{i}) = varargin{i + 1};
  end
  op = find(strcmp(o.op, {'max', 'min', 'avg', 'sum', 'lp'})) - 1;
  if isempty(op), error('oriel:invalid', 'op must be max, min, avg, sum or lp'); end
  if ~iscell(o.padding), o.padding = {o.padding, []}; end
  lists = {kernel, o.stride, o.padding{1}, o.padding{2}, o.dilation, o.output_size};
  values = max(cellfun(@numel, lists));
  for i = 1:numel(lists)
    list = double(lists{i}(:).');
    if numel(list) == 1, list = repmat(list, 1, values); end
    if ~isempty(list) && numel(list) ~= values
      error('oriel:invalid', 'lists must have 1 value or as many as the others, %d, but one has %d', values, numel(list));
    end
    lists{i} = fliplr(list);
  end
  kind = 0;
  if ~isempty(o.output_size), kind = 1; end
  if o.global, kind = 2; end
  norm = 0;
  if op == 4, norm = o.norm; end
  words = double([op, kind, o.same, o.omit_nan, o.ceil_mode, ~o.count_include_pad, values]);
  spec = {words, double([o.divisor, norm]), lists, oriel.reversed(o.axes, rank)};
  threads = double(o.threads);
end
