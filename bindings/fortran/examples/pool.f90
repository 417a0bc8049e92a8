!> The largest of each 2x2 of a matrix, where it was, and the gradient that goes back there.
program pool_matrix
  use, intrinsic :: iso_fortran_env, only: real32, int64
  use oriel, only: pool, problem
  implicit none
  type(problem) :: largest
  real(real32) :: x(6, 4), dx(6, 4)
  real(real32), allocatable :: y(:, :)
  integer(int64), allocatable :: indices(:, :), extents(:)
  character(200) :: errmsg
  integer :: i

  x = reshape([(real(modulo(7 * i, 24)), i=0, 23)], shape(x))
  call largest%make(pool(kernel=[2, 2]), x)
  extents = largest%output_shape()
  allocate (y(extents(1), extents(2)), indices(extents(1), extents(2)))
  call largest%forward(x, y, indices)
  print '(2a, 2(i0, 1x))', largest%name(), ' makes arrays of shape ', extents
  print '(a, *(f5.1))', 'largest', y
  print '(a, *(i3))', 'at', indices

  call largest%backward(y, dx, indices=indices)
  print '(i0, a)', count(dx > 0), ' inputs have a gradient'

  call largest%make(pool(op='avg', kernel=[3, 3], stride=[0, 1]), x, errmsg=errmsg)
  print '(a)', trim(errmsg)
end program pool_matrix
