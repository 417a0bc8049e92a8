!> The C interface as it is (include/oriel/c.h says what everything means), and what oriel_fortran.c makes of arrays.
!> Module oriel is the layer to use.
module oriel_c
  use, intrinsic :: iso_c_binding
  implicit none

  integer, parameter :: max_rank = 16, max_pooled = 8

  type, bind(c) :: c_pool
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: op = 0, kind = 0, padding = 0, nan_policy = 0, ceil_mode = 0, exclude = 0
    integer(c_int64_t) :: divisor = 0
    real(c_double) :: norm = 0
    integer(c_int32_t) :: values = 0, pooled = 0
    type(c_ptr) :: kernel = c_null_ptr, stride = c_null_ptr, pad_lo = c_null_ptr, pad_hi = c_null_ptr, &
      dilation = c_null_ptr, output_size = c_null_ptr, axes = c_null_ptr
  end type c_pool

  type, bind(c) :: c_info
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: op = 0, dtype = 0, rank = 0, pooled = 0, direction = 0, index_dtype = -1, index_space = 0, &
      reserved = 0
    integer(c_int64_t) :: taps = 0
    integer(c_int64_t) :: axes(max_pooled) = 0
    integer(c_int64_t), dimension(max_rank) :: shape = 0, output_shape = 0, pitch = 0, output_pitch = 0
  end type c_info

  interface
    integer(c_int32_t) function c_parse(name, handle) bind(c, name='oriel_problem_parse')
      import
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: handle
    end function c_parse
    subroutine c_free(handle) bind(c, name='oriel_problem_free')
      import
      type(c_ptr), value :: handle
    end subroutine c_free
    integer(c_int32_t) function c_describe(handle, info) bind(c, name='oriel_problem_describe')
      import
      type(c_ptr), value :: handle
      type(c_info), intent(inout) :: info
    end function c_describe
    integer(c_int32_t) function c_name(handle, text, capacity, length) bind(c, name='oriel_problem_name')
      import
      type(c_ptr), value :: handle
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(out) :: length
    end function c_name
    integer(c_int32_t) function c_active_target(text, capacity, length) bind(c, name='oriel_active_target')
      import
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
      integer(c_size_t), intent(out) :: length
    end function c_active_target
    integer(c_int32_t) function c_set_target(name) bind(c, name='oriel_set_target')
      import
      character(kind=c_char), intent(in) :: name(*)
    end function c_set_target
    type(c_ptr) function c_dtype_name(dtype) bind(c, name='oriel_dtype_name')
      import
      integer(c_int32_t), value :: dtype
    end function c_dtype_name
    type(c_ptr) function c_version() bind(c, name='oriel_version')
      import
    end function c_version
    type(c_ptr) function c_last_error() bind(c, name='oriel_last_error')
      import
    end function c_last_error
    integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
      import
      type(c_ptr), value :: text
    end function c_strlen
    integer(c_int32_t) function f_make(spec, x, dtype, handle, text, capacity) bind(c, name='oriel_fortran_make')
      import
      type(c_pool), intent(in) :: spec
      type(*), intent(in) :: x(..)
      integer(c_int32_t), value :: dtype
      type(c_ptr), intent(inout) :: handle
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
    end function f_make
    integer(c_int32_t) function f_forward(handle, x, y, indices, space, threads, text, capacity) &
      bind(c, name='oriel_fortran_forward')
      import
      type(c_ptr), value :: handle
      type(*), intent(in) :: x(..)
      type(*), intent(inout) :: y(..)
      type(*), intent(inout), optional :: indices(..)
      integer(c_int32_t), value :: space, threads
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
    end function f_forward
    integer(c_int32_t) function f_backward(handle, x, dy, indices, dx, space, threads, text, capacity) &
      bind(c, name='oriel_fortran_backward')
      import
      type(c_ptr), value :: handle
      type(*), intent(in), optional :: x(..)
      type(*), intent(in) :: dy(..)
      type(*), intent(in), optional :: indices(..)
      type(*), intent(inout) :: dx(..)
      integer(c_int32_t), value :: space, threads
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
    end function f_backward
    integer(c_int32_t) function f_unpool(handle, y, indices, x, space, threads, text, capacity) &
      bind(c, name='oriel_fortran_unpool')
      import
      type(c_ptr), value :: handle
      type(*), intent(in) :: y(..), indices(..)
      type(*), intent(inout) :: x(..)
      integer(c_int32_t), value :: space, threads
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_size_t), value :: capacity
    end function f_unpool
  end interface

contains

  function from_c(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    if (.not. c_associated(pointer)) then
      text = ''
      return
    end if
    call c_f_pointer(pointer, letters, [c_strlen(pointer)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function from_c

  function up_to_zero(letters) result(text)
    character(kind=c_char), intent(in) :: letters(:)
    character(:), allocatable :: text
    integer :: i
    text = ''
    do i = 1, size(letters)
      if (letters(i) == c_null_char) exit
      text = text // letters(i)
    end do
  end function up_to_zero

end module oriel_c
