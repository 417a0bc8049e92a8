# The files of the CUDA backend, relative to src/: nvcc compiles them for the device, the host compiler for the emulator.
set(oriel_cuda_sources
  cuda/apart.cu
  cuda/chosen.cu
  cuda/direct.cu
  cuda/gather.cu
  cuda/gradient.cu
  cuda/lane_columns.cu
  cuda/lane_gradient.cu
  cuda/lanes.cu
  cuda/overlap.cu
  cuda/rows.cc
  cuda/run.cu
  cuda/staged_call.cu
  cuda/staged.cu
  cuda/stream.cu
  cuda/strip.cu
  cuda/unpool.cu
)

# Those of networks on CUDA devices.
set(oriel_nn_cuda_sources
  nn/cuda/convolution.cu
  nn/cuda/cudnn.cc
  nn/cuda/cudnn_names.cc
  nn/cuda/engine.cc
  nn/cuda/head.cu
  nn/cuda/pool.cu
  nn/cuda/prepared.cc
  nn/cuda/raise.cu
  nn/cuda/trial.cc
)

# No fused multiply-add that the source does not spell (S8), as for the CPU; constexpr functions run on the device too.
set(oriel_cuda_flags --fmad=false --expt-relaxed-constexpr)
