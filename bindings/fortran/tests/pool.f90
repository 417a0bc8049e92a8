!> Values, types, sections and errors, against Fortran's own loops.
program test_pool
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use oriel, only: oriel_active_target, oriel_set_target, oriel_version, pool, problem, space_window
  implicit none
  integer :: failures = 0

  call values()
  call kinds()
  call sections()
  call gradients()
  call copies()
  call errors()
  call check('version', index(oriel_version(), '.') > 0)
  if (failures > 0) error stop 'tests of the Fortran binding failed'
  print '(a)', 'all is as it should be'

contains

  subroutine check(what, holds)
    character(*), intent(in) :: what
    logical, intent(in) :: holds
    if (holds) return
    failures = failures + 1
    print '(2a)', 'wrong: ', what
  end subroutine check

  subroutine says(what, text, part)
    character(*), intent(in) :: what, text, part
    call check(what // ': ' // trim(text), index(text, part) > 0)
  end subroutine says

  subroutine values()
    type(problem) :: p
    real(real64) :: x(6, 4, 5), y(3, 4, 2), wanted
    integer :: i, j, k
    x = reshape([(real(modulo(17 * i, 43) - 20, real64), i=1, size(x))], shape(x))
    call p%make(pool(op='sum', kernel=[2, 2], axes=[1, 3]), x)
    call check('the shape of the result', all(p%output_shape() == [3, 4, 2]))
    call check('the shape of the array', all(p%input_shape() == [6, 4, 5]))
    call p%forward(x, y)
    do k = 1, 2
      do j = 1, 4
        do i = 1, 3
          wanted = sum(x(2 * i - 1:2 * i, j, 2 * k - 1:2 * k))
          call check('a sum', abs(y(i, j, k) - wanted) < 1d-12)
        end do
      end do
    end do
    p%threads = 1
    call p%make(pool(op='min', kernel=[6, 1, 5]), x)
    call check('lists in the order of axes', all(p%output_shape() == [1, 4, 1]))
    call p%make(pool(op='max', output_size=[2, 2, 1]), x)
    call check('windows that share the array', all(p%output_shape() == [2, 2, 1]))
    call p%make(pool(op='lp', norm=1d0, global=.true.), x)
    call check('one window', all(p%output_shape() == 1))
  end subroutine values

  subroutine kinds()
    type(problem) :: p
    integer(int8) :: bytes(4), largest(2)
    integer(int16) :: shorts(4) = [1_int16, 9_int16, -3_int16, -4_int16], short(2)
    integer(int64) :: longs(4) = [1_int64, 9_int64, -3_int64, -4_int64], long(2)
    logical(c_bool) :: flags(4) = [.true._c_bool, .false._c_bool, .false._c_bool, .false._c_bool], any_of(2)
    bytes = [1_int8, -1_int8, 3_int8, 4_int8]  ! as unsigned numbers 1, 255, 3, 4
    call p%make(pool(kernel=[2]), bytes)
    call p%forward(bytes, largest)
    call check('int8', p%dtype() == 'i8' .and. all(largest == [1, 4]))
    call p%make(pool(kernel=[2]), bytes, dtype='u8')
    call p%forward(bytes, largest)
    call check('int8 as u8', p%dtype() == 'u8' .and. all(largest == [-1, 4]))
    call p%make(pool(kernel=[2]), shorts)
    call p%forward(shorts, short)
    call check('int16', all(short == [9, -3]))
    call p%make(pool(kernel=[2]), longs)
    call p%forward(longs, long)
    call check('int64', all(long == [9, -3]))
    call p%make(pool(kernel=[2]), flags)
    call p%forward(flags, any_of)
    call check('logical', p%dtype() == 'bool' .and. any_of(1) .and. .not. any_of(2))
  end subroutine kinds

  ! Sections, also reversed ones, are neither copied nor taken for whole arrays.
  subroutine sections()
    type(problem) :: p
    real(real32) :: x(8, 6) = -1, y(7, 5) = -7, wanted(2, 3)
    integer :: i, j
    x(1:8:2, 6:1:-1) = reshape([(real(i, real32), i=1, 24)], [4, 6])
    call p%make(pool(kernel=[2, 2]), x(1:8:2, 6:1:-1))
    call p%forward(x(1:8:2, 6:1:-1), y(7:4:-3, 1:5:2))
    wanted = reshape([6., 8., 14., 16., 22., 24.], [2, 3])
    call check('the results of a section', all(abs(y(7:4:-3, 1:5:2) - wanted) < 1e-6))
    do j = 1, 5
      do i = 1, 7
        if (any(i == [4, 7]) .and. modulo(j, 2) == 1) cycle
        call check('nothing else is written', abs(y(i, j) + 7) < 1e-6)
      end do
    end do
  end subroutine sections

  subroutine gradients()
    type(problem) :: p
    real(real64) :: x(4, 4), y(2, 2), dx(4, 4), again(4, 4), back(4, 4)
    integer(int64) :: places(2, 2)
    integer(int8) :: codes(2, 2)
    integer :: i
    x = reshape([(real(modulo(7 * i, 16), real64), i=0, 15)], shape(x))
    call p%make(pool(kernel=[2, 2]), x)
    call p%forward(x, y, places)
    call p%backward(y, dx, indices=places)
    call p%backward(y, again, x=x)
    call p%unpool(y, places, back)
    call check('the gradient by indices and by the array', all(abs(dx - again) < 1d-15) .and. all(abs(dx - back) < 1d-15))
    call check('it is at the maxima', count(dx > 0) == 4 .and. all(abs(pack(dx, dx > 0) - pack(x, dx > 0)) < 1d-15))
    call p%forward(x, y, codes, space=space_window)
    call p%backward(y, again, indices=codes, space=space_window)
    call check('the gradient by codes', all(abs(dx - again) < 1d-15))
  end subroutine gradients

  subroutine copies()
    type(problem) :: p, q
    call p%parse('max:f32:4x6:k2')
    q = p
    call p%parse('sum:i32:9:k3')
    call check('a copy is one of its own', q%name() == 'max:f32:4x6:k2')
    call check('what was copied may change', p%name() == 'sum:i32:9:k3')
    p = p
    call check('a copy of itself', p%name() == 'sum:i32:9:k3')
  end subroutine copies

  subroutine errors()
    type(problem) :: p
    character(200) :: errmsg
    real(real32) :: x(6, 4), y(3, 2), wrong(3, 3)
    integer(int32) :: whole(6, 4)
    integer :: stat
    x = 1
    whole = 1
    call p%forward(x, y, stat=stat, errmsg=errmsg)
    call says('no problem', errmsg, 'must be made by parse or make')
    call p%parse('max:f32:6:k9', stat, errmsg)
    call says('a name', errmsg, 'the window must fit')
    call check('stat', stat == 1)
    call p%make(pool(kernel=[2, 2], stride=[0]), x, stat=stat, errmsg=errmsg)
    call says('a stride', errmsg, 'stride must be >= 1')
    call p%make(pool(kernel=[2, 2], stride=[1, 2, 3]), x, stat=stat, errmsg=errmsg)
    call says('a list', errmsg, 'kernel: must have 1 value or as many as the longest list, 3, but has 2')
    call p%make(pool(op='mad', kernel=[2]), x, stat=stat, errmsg=errmsg)
    call says('an op', errmsg, "op: must be max, min, avg, sum or lp, but is 'mad'")
    call p%make(pool(kernel=[2], axes=[3]), x, stat=stat, errmsg=errmsg)
    call says('an axis', errmsg, 'axes: must be from 1 to the rank of x')
    call p%make(pool(kernel=[2]), x, dtype='f16', stat=stat, errmsg=errmsg)
    call says('a dtype', errmsg, 'dtype: must be one that the type of x holds')
    call p%make(pool(kernel=[2]), x, dtype='f17', stat=stat, errmsg=errmsg)
    call says('no dtype', errmsg, "but is 'f17'")
    call p%make(pool(kernel=[2, 2]), x, stat=stat, errmsg=errmsg)
    call check('no error', stat == 0)
    call p%forward(x, wrong, stat=stat, errmsg=errmsg)
    call says('a shape', errmsg, 'y')
    call p%forward(whole, y, stat=stat, errmsg=errmsg)
    call says('a type', errmsg, 'x: is of a type that does not hold elements of dtype f32')
    call p%forward(reshape(x, [24]), y(:, 1), stat=stat, errmsg=errmsg)
    call says('a count', errmsg, 'y: must have 6 elements, but has 3')
    call p%forward(x, y, whole(1:6:2, 1:2), stat=stat, errmsg=errmsg)
    call says('indices', errmsg, 'i64')
    call oriel_set_target('nonsense', stat, errmsg)
    call says('a target', errmsg, "'nonsense'")
    call check('a target is in use', oriel_active_target() /= '')
  end subroutine errors

end program test_pool
