function test_vectors(file)
% The shared vectors (tests/vectors/vectors.txt, whose head says what they are): the first 300 lines, and of the others
% every fiftieth that is small, since this is plain Octave.
  lines = strsplit(fileread(file), sprintf('\n'));
  lines = lines(cellfun(@(line) ~isempty(line) && line(1) ~= '#', lines));
  chosen = 1:300;
  for i = 350:50:numel(lines)
    parts = strsplit(lines{i}, ':');
    if prod(str2double(strsplit(parts{3}, 'x'))) <= 500, chosen(end + 1) = i; end
  end
  wrong = 0;
  for i = chosen
    parts = strsplit(lines{i}, ' ');
    hash = result(parts{1});
    if ~strcmp(hash, parts{2})
      wrong = wrong + 1;
      fprintf('%s is %s here\n', lines{i}, hash);
    end
  end
  fprintf('%d vectors in Octave on %s by %s: %d differ\n', numel(chosen), oriel_mex('target'), oriel_mex('version'), wrong);
  assert(wrong == 0 && numel(chosen) > 330);
end

function hash = result(line)
  words = strsplit(line, '@');
  parts = strsplit(words{1}, ':');
  type = parts{2};
  data = 'numbers';
  if any(strcmp(words, 'ties')), data = 'ties'; end
  if any(strcmp(words, 'specials')), data = 'specials'; end
  shape = str2double(strsplit(parts{3}, 'x'));
  x = to_bytes(type, elements(type, data, prod(shape), 1));
  outputs = count_of_outputs(words{1}, type, prod(shape));
  dy = to_bytes(type, elements(type, data, outputs, 2));
  space = -1;
  if any(strcmp(words, 'tensor')), space = 1; end
  if any(strcmp(words, 'window')), space = 2; end
  index = 'i64';
  if ~isempty(strfind(words{1}, ':codes')), index = 'u8'; end
  index_dtype = -1;
  if any(strcmp(words, 'i32')), index_dtype = 8; index = 'i32'; end
  back = any(strcmp(words, 'unpool'));
  [first, indices] = oriel_mex('named', words{1}, x, dy, space, index_dtype, back);
  h = fnv(hex2dec({'2325', '8422', '9ce4', 'cbf2'}).', canonical(type, first));
  indexed = ~isempty(regexp(words{1}, ':(indices|codes)')) && isempty(strfind(words{1}, ':backward')) && ~back;
  if indexed, h = fnv(h, canonical(index, indices)); end
  hash = sprintf('%04x', fliplr(h));
end

% The elements of the result, asked of a pool without gradients or indices.
function n = count_of_outputs(name, type, inputs)
  forward = regexprep(name, ':(backward|indices|codes)', '');
  n = numel(oriel_mex('named', forward, zeros(inputs * bytes_of(type), 1, 'uint8'), [], -1, -1, 0)) / bytes_of(type);
end

function n = bytes_of(type)
  sizes = struct('f64', 8, 'f32', 4, 'f16', 2, 'bf16', 2, 'i8', 1, 'u8', 1, 'i16', 2, 'u16', 2, 'i32', 4, 'u32', 4, ...
                 'i64', 8, 'u64', 8, 'bool', 1);
  n = sizes.(type);
end

% Fraction's bits (of f64 those of its upper half) and bias of a floating type; 0 of others.
function [fraction, bias] = format_of(type)
  formats = struct('f64', [20 1023], 'f32', [23 127], 'f16', [10 15], 'bf16', [7 127]);
  fraction = 0;
  bias = 0;
  if isfield(formats, type), fraction = formats.(type)(1); bias = formats.(type)(2); end
end

function s = sequence(n, seed)
  s = zeros(1, n);
  for i = 1:n
    seed = mod(seed * 1664525 + 1013904223, 4294967296);  % exact in doubles
    s(i) = seed;
  end
end

function out = bits_from(s, from, count)
  out = mod(floor(s / 2^from), 2^count);
end

% Elements as two rows, the low and the high 32 bits.
function e = signed_bits(type, negative, upper)
  if strcmp(type, 'f64')
    e = [0 * upper; negative * 2^31 + upper];
  else
    e = [negative * 2^(8 * bytes_of(type) - 1) + upper; 0 * upper];
  end
end

function e = small_numbers(type, n)
  [fraction, bias] = format_of(type);
  m = abs(n);
  power = (m >= 2) + (m >= 4);
  e = signed_bits(type, n < 0, (m > 0) .* ((bias + power) * 2^fraction + (m - 2.^power) .* 2.^(fraction - power)));
end

function v = infinity(type)
  [fraction, bias] = format_of(type);
  v = (2 * bias + 1) * 2^fraction;
end

function e = specials(type, c)
  fraction = format_of(type);
  e = small_numbers(type, mod(c, 8) - 4);
  upper = [infinity(type) + 2^(fraction - 1), infinity(type), infinity(type), 0, 0, 0, 0];
  for k = 0:6
    e(:, c == k) = repmat(signed_bits(type, any(k == [2 3 6]), upper(k + 1)), 1, sum(c == k));
  end
  least = c == 5 | c == 6;
  e(1, least) = e(1, least) + 1;
end

function e = elements(type, data, n, seed)
  [fraction, bias] = format_of(type);
  bytes = bytes_of(type);
  if strcmp(type, 'bool')
    e = [bits_from(sequence(n, seed), 31, 1); zeros(1, n)];
  elseif strcmp(data, 'specials')
    e = specials(type, bits_from(sequence(n, seed), 27, 5));
  elseif strcmp(data, 'ties') && fraction > 0
    e = small_numbers(type, bits_from(sequence(n, seed), 29, 3) - 4);
  elseif strcmp(data, 'ties')
    v = bits_from(sequence(n, seed), 29, 3) - 4 * (type(1) == 'i');
    e = [mod(v, 2^min(32, 8 * bytes)); (bytes == 8 & v < 0) * 4294967295];
  elseif bytes == 8
    s = reshape(sequence(2 * n, seed), 2, n);
    e = s([2 1], :);
    if fraction > 0
      e = signed_bits(type, bits_from(s(1, :), 31, 1), (bias - 8 + bits_from(s(1, :), 27, 4)) * 2^20 + bits_from(s(1, :), 7, 20));
      e(1, :) = s(2, :);
    end
  else
    s = sequence(n, seed);
    e = [floor(s / 2^(32 - 8 * bytes)); zeros(1, n)];
    if fraction > 0
      e = signed_bits(type, bits_from(s, 31, 1), (bias - 8 + bits_from(s, 27, 4)) * 2^fraction + bits_from(s, 27 - fraction, fraction));
    end
  end
end

function out = to_bytes(type, e)
  bytes = bytes_of(type);
  out = zeros(bytes, size(e, 2));
  for b = 1:bytes
    out(b, :) = bits_from(e(1 + (b > 4), :), 8 * mod(b - 1, 4), 8);
  end
  [~, ~, order] = computer();
  if order == 'B', out = flipud(out); end
  out = uint8(out(:));
end

% Bytes of elements, the lowest first, any NaN as the quiet one.
function out = canonical(type, memory)
  bytes = bytes_of(type);
  out = reshape(double(memory), bytes, []);
  [~, ~, order] = computer();
  if order == 'B', out = flipud(out); end
  if format_of(type) > 0
    top = out(max(1, bytes - 3):bytes, :);
    upper = mod((256 .^ (0:size(top, 1) - 1)) * top, 2^(8 * size(top, 1) - 1));
    nan = upper > infinity(type);
    if bytes == 8, nan = nan | (upper == infinity(type) & any(out(1:4, :), 1)); end
    quiet = double(to_bytes(type, specials(type, 0)));
    if order == 'B', quiet = flipud(quiet); end
    out(:, nan) = repmat(quiet, 1, sum(nan));
  end
  out = out(:).';
end

% FNV-1a with the 64 bits in four numbers of 16, the lowest first; the prime is 2^40 + 435.
function h = fnv(h, bytes)
  for b = bytes
    h(1) = bitxor(h(1), b);
    t = h * 435;
    t(3) = t(3) + h(1) * 256;
    t(4) = t(4) + h(2) * 256;
    t(2) = t(2) + floor(t(1) / 65536);
    t(3) = t(3) + floor(t(2) / 65536);
    t(4) = t(4) + floor(t(3) / 65536);
    h = mod(t, 65536);
  end
end
