!> Pooling by Oriel: the same bits on every processor, number of threads and memory layout.
!>
!> A problem is a pool on arrays of one type and shape. It is made of a pool and an array,
!> `call p%make(pool(kernel=[2, 2]), x)`, or of a name, `call p%parse('max:f32:4x6:k2')`. Lists and axes of `pool` are in
!> Fortran's order. Names and the texts of errors list axes from the outermost, 0, to the innermost: the name of a pool of
!> an array of shape [6, 4] says 4x6.
!>
!> Procedures that can fail take `stat`, which is 0 or a status of oriel/c.h, and `errmsg`, as Fortran's own statements
!> do. Without both a failure stops the program.
module oriel
  use, intrinsic :: iso_c_binding
  use oriel_c
  implicit none
  private

  public :: pool, problem, oriel_version, oriel_active_target, oriel_set_target
  public :: space_plane, space_tensor, space_window

  !> What indices count, from 0: places of the pooled axes, of the whole array, or of the window.
  integer, parameter :: space_plane = 0, space_tensor = 1, space_window = 2

  integer, parameter :: text_length = 1024

  !> What is done to which windows. A list has one value for all pooled axes or one for each.
  type :: pool
    character(3) :: op = 'max'                 !< max, min, avg, sum or lp
    integer, allocatable :: kernel(:)
    integer, allocatable :: stride(:)          !< the kernel unless given
    integer, allocatable :: padding(:)         !< before the first element, and after the last
    integer, allocatable :: padding_after(:)   !< after the last, instead
    integer, allocatable :: dilation(:)
    integer, allocatable :: output_size(:)     !< instead of the kernel: so many windows that share the array evenly
    integer, allocatable :: axes(:)            !< from 1; all unless given
    logical :: global = .false.                !< instead of the kernel: one window over everything
    logical :: same = .false.                  !< as much padding as gives ceiling(n / stride) results
    logical :: ceil_mode = .false.
    logical :: exclude_padding = .false.       !< averages: padding does not count in the divisor
    logical :: omit_nan = .false.              !< NaN do not exist, instead of making results NaN
    integer(c_int64_t) :: divisor = 0          !< averages: divides by this instead
    real(c_double) :: norm = 2                 !< the p of lp
  end type pool

  type :: problem
    private
    type(c_ptr) :: handle = c_null_ptr
    character(:), allocatable :: source        ! the name that makes it again
    integer, public :: threads = 0             !< that a call uses at most; 0: all that the process may use
  contains
    procedure :: parse => problem_parse
    procedure :: make => problem_make
    procedure :: name => problem_name
    procedure :: input_shape => problem_input_shape
    procedure :: output_shape => problem_output_shape
    procedure :: dtype => problem_dtype
    procedure :: is_backward => problem_is_backward
    procedure :: index_dtype => problem_index_dtype
    procedure :: index_space => problem_index_space
    procedure :: forward => problem_forward
    procedure :: backward => problem_backward
    procedure :: unpool => problem_unpool
    procedure, private :: problem_copy
    generic :: assignment(=) => problem_copy
    final :: problem_free
  end type problem

contains

  subroutine report(status, text, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: text
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (present(stat)) stat = status
    if (present(errmsg) .and. status /= 0) errmsg = text
    if (status /= 0 .and. .not. present(stat) .and. .not. present(errmsg)) error stop 'oriel: ' // text
  end subroutine report

  subroutine report_last(status, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (status /= 0) then
      call report(status, from_c(c_last_error()), stat, errmsg)
    else
      call report(status, '', stat, errmsg)
    end if
  end subroutine report_last

  !> The problem that a name describes.
  subroutine problem_parse(self, name, stat, errmsg)
    class(problem), intent(inout) :: self
    character(*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = c_parse(trim(name) // c_null_char, handle)
    if (status == 0) call take(self, handle, trim(name))
    call report_last(status, stat, errmsg)
  end subroutine problem_parse

  subroutine take(self, handle, source)
    class(problem), intent(inout) :: self
    type(c_ptr), intent(in) :: handle
    character(*), intent(in) :: source
    call c_free(self%handle)
    self%handle = handle
    self%source = source
  end subroutine take

  !> The problem of a pool on arrays like x, whose values do not matter. `dtype` names the elements of integers that hold
  !> others: u8, u16, u32, u64, f16, bf16 or bool.
  subroutine problem_make(self, spec, x, dtype, stat, errmsg)
    class(problem), intent(inout) :: self
    type(pool), intent(in) :: spec
    type(*), intent(in) :: x(..)
    character(*), intent(in), optional :: dtype
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t), allocatable, target :: lists(:, :), axes(:)
    character(kind=c_char) :: text(text_length)
    character(:), allocatable :: wrong
    type(c_pool) :: c
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    call translate(spec, rank(x), c, lists, axes, wrong)
    if (present(dtype) .and. wrong == '') then
      if (number_of(dtype) < 0) wrong = 'dtype: must be an element type such as u8, but is ''' // dtype // ''''
    end if
    if (wrong /= '') then
      call report(1_c_int32_t, wrong, stat, errmsg)
      return
    end if
    call point(c, spec, lists, axes)
    handle = c_null_ptr
    status = -1
    if (present(dtype)) status = number_of(dtype)
    status = f_make(c, x, status, handle, text, int(text_length, c_size_t))
    if (status == 0) then
      call take(self, handle, '')
      self%source = self%name()
    end if
    call report(status, up_to_zero(text), stat, errmsg)
  end subroutine problem_make

  integer(c_int32_t) function number_of(dtype)
    character(*), intent(in) :: dtype
    do number_of = 0, 12
      if (from_c(c_dtype_name(number_of)) == dtype) return
    end do
    number_of = -1
  end function number_of

  subroutine translate(spec, rank, c, lists, axes, wrong)
    type(pool), intent(in) :: spec
    integer, intent(in) :: rank
    type(c_pool), intent(out) :: c
    integer(c_int64_t), allocatable, intent(out) :: lists(:, :), axes(:)
    character(:), allocatable, intent(out) :: wrong
    integer :: values
    wrong = ''
    c%size = c_sizeof(c)
    c%op = (index('max min avg sum lp ', trim(spec%op) // ' ') - 1) / 4
    if (all(spec%op /= ['max', 'min', 'avg', 'sum', 'lp '])) &
      wrong = 'op: must be max, min, avg, sum or lp, but is ''' // trim(spec%op) // ''''
    if (allocated(spec%output_size)) c%kind = 1
    if (spec%global) c%kind = 2
    c%padding = merge(1, 0, spec%same)
    c%nan_policy = merge(1, 0, spec%omit_nan)
    c%ceil_mode = merge(1, 0, spec%ceil_mode)
    c%exclude = merge(1, 0, spec%exclude_padding)
    c%divisor = spec%divisor
    if (spec%op == 'lp') c%norm = spec%norm
    values = max(length(spec%kernel), length(spec%stride), length(spec%padding), length(spec%padding_after), &
                 length(spec%dilation), length(spec%output_size))
    allocate (lists(values, 6))
    call spread_out('kernel', spec%kernel, lists(:, 1), wrong)
    call spread_out('stride', spec%stride, lists(:, 2), wrong)
    call spread_out('padding', spec%padding, lists(:, 3), wrong)
    call spread_out('padding_after', spec%padding_after, lists(:, 4), wrong)
    call spread_out('dilation', spec%dilation, lists(:, 5), wrong)
    call spread_out('output_size', spec%output_size, lists(:, 6), wrong)
    c%values = values
    c%pooled = length(spec%axes)
    allocate (axes(c%pooled))
    if (.not. allocated(spec%axes)) return
    if (any(spec%axes < 1 .or. spec%axes > rank)) wrong = 'axes: must be from 1 to the rank of x'
    axes = rank - spec%axes(c%pooled:1:-1)
  end subroutine translate

  integer function length(list)
    integer, allocatable, intent(in) :: list(:)
    length = 0
    if (allocated(list)) length = size(list)
  end function length

  ! A list for C: reversed, as the axes are.
  subroutine spread_out(name, list, to, wrong)
    character(*), intent(in) :: name
    integer, allocatable, intent(in) :: list(:)
    integer(c_int64_t), intent(out) :: to(:)
    character(:), allocatable, intent(inout) :: wrong
    character(100) :: text
    to = 0
    if (.not. allocated(list)) return
    if (size(list) == 1) then
      to = list(1)
    else if (size(list) == size(to)) then
      to = list(size(list):1:-1)
    else if (wrong == '') then
      write (text, '(2a, i0, a, i0)') name, ': must have 1 value or as many as the longest list, ', size(to), &
        ', but has ', size(list)
      wrong = trim(text)
    end if
  end subroutine spread_out

  subroutine point(c, spec, lists, axes)
    type(c_pool), intent(inout) :: c
    type(pool), intent(in) :: spec
    integer(c_int64_t), intent(in), target :: lists(:, :), axes(:)
    if (size(lists, 1) > 0) then
      if (allocated(spec%kernel)) c%kernel = c_loc(lists(1, 1))
      if (allocated(spec%stride)) c%stride = c_loc(lists(1, 2))
      if (allocated(spec%padding)) c%pad_lo = c_loc(lists(1, 3))
      if (allocated(spec%padding_after)) c%pad_hi = c_loc(lists(1, 4))
      if (allocated(spec%dilation)) c%dilation = c_loc(lists(1, 5))
      if (allocated(spec%output_size)) c%output_size = c_loc(lists(1, 6))
    end if
    if (size(axes) > 0) c%axes = c_loc(axes(1))
  end subroutine point

  impure elemental subroutine problem_free(self)
    type(problem), intent(inout) :: self
    call c_free(self%handle)
    self%handle = c_null_ptr
  end subroutine problem_free

  subroutine problem_copy(self, from)
    class(problem), intent(inout) :: self
    class(problem), intent(in) :: from
    type(c_ptr) :: handle
    integer(c_int32_t) :: status
    handle = c_null_ptr
    status = 0
    if (c_associated(from%handle)) status = c_parse(from%source // c_null_char, handle)
    if (status /= 0) error stop 'oriel: a problem was not copied'
    self%threads = from%threads
    if (c_associated(handle)) then
      call take(self, handle, from%source)
    else
      call take(self, handle, '')
    end if
  end subroutine problem_copy

  type(c_info) function describe(self) result(info)
    class(problem), intent(in) :: self
    if (.not. c_associated(self%handle)) error stop 'oriel: a problem must be made by parse or make before it is used'
    info%size = c_sizeof(info)
    if (c_describe(self%handle, info) /= 0) error stop 'oriel: a problem was not described'
  end function describe

  !> The shortest name of the problem.
  function problem_name(self) result(name)
    class(problem), intent(in) :: self
    character(:), allocatable :: name
    character(kind=c_char) :: text(text_length)
    integer(c_size_t) :: length
    name = ''
    if (.not. c_associated(self%handle)) return
    if (c_name(self%handle, text, int(text_length, c_size_t), length) == 0) name = up_to_zero(text)
  end function problem_name

  !> The shapes of arrays that it takes and makes.
  function problem_input_shape(self) result(extents)
    class(problem), intent(in) :: self
    integer(c_int64_t), allocatable :: extents(:)
    type(c_info) :: info
    info = describe(self)
    extents = info%shape(info%rank:1:-1)
  end function problem_input_shape

  function problem_output_shape(self) result(extents)
    class(problem), intent(in) :: self
    integer(c_int64_t), allocatable :: extents(:)
    type(c_info) :: info
    info = describe(self)
    extents = info%output_shape(info%rank:1:-1)
  end function problem_output_shape

  !> The name of the element type.
  function problem_dtype(self) result(name)
    class(problem), intent(in) :: self
    character(:), allocatable :: name
    type(c_info) :: info
    info = describe(self)
    name = from_c(c_dtype_name(info%dtype))
  end function problem_dtype

  !> Whether the name asks for the gradient; the dtype of the indices that it asks for, '' for none; what those count.
  logical function problem_is_backward(self)
    class(problem), intent(in) :: self
    type(c_info) :: info
    info = describe(self)
    problem_is_backward = info%direction == 1
  end function problem_is_backward

  function problem_index_dtype(self) result(name)
    class(problem), intent(in) :: self
    character(:), allocatable :: name
    type(c_info) :: info
    info = describe(self)
    name = ''
    if (info%index_dtype >= 0) name = from_c(c_dtype_name(info%index_dtype))
  end function problem_index_dtype

  integer function problem_index_space(self)
    class(problem), intent(in) :: self
    type(c_info) :: info
    info = describe(self)
    problem_index_space = info%index_space
  end function problem_index_space

  integer(c_int32_t) function space_of(space)
    integer, intent(in), optional :: space
    space_of = space_plane
    if (present(space)) space_of = int(space, c_int32_t)
  end function space_of

  !> y = the pool of x, and, of max and min, indices. Arrays have the problem's shapes, or rank 1 and all elements in the
  !> memory order that the name gives; they may be sections.
  subroutine problem_forward(self, x, y, indices, space, stat, errmsg)
    class(problem), intent(in) :: self
    type(*), intent(in) :: x(..)
    type(*), intent(inout) :: y(..)
    type(*), intent(inout), optional :: indices(..)
    integer, intent(in), optional :: space
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char) :: text(text_length)
    integer(c_int32_t) :: status
    status = f_forward(self%handle, x, y, indices, space_of(space), int(self%threads, c_int32_t), text, &
                       int(text_length, c_size_t))
    call report(status, up_to_zero(text), stat, errmsg)
  end subroutine problem_forward

  !> dx = the gradient of the pool at x, given that of its result, dy. x is not needed if indices are given, nor for sums
  !> and averages that do not omit NaN.
  subroutine problem_backward(self, dy, dx, x, indices, space, stat, errmsg)
    class(problem), intent(in) :: self
    type(*), intent(in) :: dy(..)
    type(*), intent(inout) :: dx(..)
    type(*), intent(in), optional :: x(..), indices(..)
    integer, intent(in), optional :: space
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char) :: text(text_length)
    integer(c_int32_t) :: status
    status = f_backward(self%handle, x, dy, indices, dx, space_of(space), int(self%threads, c_int32_t), text, &
                        int(text_length, c_size_t))
    call report(status, up_to_zero(text), stat, errmsg)
  end subroutine problem_backward

  !> x = zeros, but the elements of y where their indices say.
  subroutine problem_unpool(self, y, indices, x, space, stat, errmsg)
    class(problem), intent(in) :: self
    type(*), intent(in) :: y(..), indices(..)
    type(*), intent(inout) :: x(..)
    integer, intent(in), optional :: space
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char) :: text(text_length)
    integer(c_int32_t) :: status
    status = f_unpool(self%handle, y, indices, x, space_of(space), int(self%threads, c_int32_t), text, &
                      int(text_length, c_size_t))
    call report(status, up_to_zero(text), stat, errmsg)
  end subroutine problem_unpool

  !> The version of the library; the instruction set in use; another one from now on, '' being the best.
  function oriel_version() result(text)
    character(:), allocatable :: text
    text = from_c(c_version())
  end function oriel_version

  function oriel_active_target() result(text)
    character(:), allocatable :: text
    character(kind=c_char) :: letters(64)
    integer(c_size_t) :: length
    text = ''
    if (c_active_target(letters, 64_c_size_t, length) == 0) text = up_to_zero(letters)
  end function oriel_active_target

  subroutine oriel_set_target(name, stat, errmsg)
    character(*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call report_last(c_set_target(trim(name) // c_null_char), stat, errmsg)
  end subroutine oriel_set_target

end module oriel
