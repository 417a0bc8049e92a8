function build_mex(folder)
% BUILD_MEX  Compile oriel_mex, into FOLDER or beside this file. pkg-config knows where liboriel_c is.
  here = fileparts(mfilename('fullpath'));
  if nargin < 1, folder = here; end
  [status, flags] = system('pkg-config --cflags --libs oriel_c');
  if status ~= 0
    error('oriel:build', 'pkg-config does not know oriel_c; PKG_CONFIG_PATH may say where it is: %s', flags);
  end
  words = strsplit(strtrim(flags));
  source = fullfile(here, 'oriel_mex.c');
  if exist('OCTAVE_VERSION', 'builtin')
    mkoctfile('--mex', words{:}, source, '-o', fullfile(folder, 'oriel_mex.mex'));
  else
    mex(words{:}, source, '-outdir', folder);
  end
end
