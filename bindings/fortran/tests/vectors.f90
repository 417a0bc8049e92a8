!> The shared vectors (tests/vectors/vectors.txt in Oriel's sources, whose head says what they are). Usage: vectors FILE.
program test_vectors
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use oriel, only: oriel_active_target, problem, space_tensor, space_window
  implicit none

  integer(int64), parameter :: word = int(z'ffffffff', int64)
  !> Of a tensor: its memory, as many bytes as it has, and how many an element has.
  type :: memory
    integer(int8), allocatable :: i8(:)
    integer(int16), allocatable :: i16(:)
    integer(int32), allocatable :: i32(:)
    integer(int64), allocatable :: i64(:)
    real(real32), allocatable :: f32(:)
    real(real64), allocatable :: f64(:)
  end type memory

  character(400) :: file, line
  integer :: unit, status, gap, count, wrong
  character(16) :: found

  call get_command_argument(1, file)
  open (newunit=unit, file=trim(file), status='old', action='read')
  count = 0
  wrong = 0
  do
    read (unit, '(a)', iostat=status) line
    if (status /= 0) exit
    if (line == '' .or. line(1:1) == '#') cycle
    gap = index(line, ' ')
    found = hexadecimal(result_of(line(:gap - 1)))
    count = count + 1
    if (found == line(gap + 1:gap + 16)) cycle
    wrong = wrong + 1
    print '(4a)', trim(line), ' is ', found, ' in Fortran'
  end do
  print '(i0, 3a, i0, a)', count, ' vectors in Fortran on ', oriel_active_target(), ': ', wrong, ' differ'
  if (wrong > 0 .or. count < 1000) error stop 1

contains

  function hexadecimal(h) result(text)
    integer(int64), intent(in) :: h
    character(16) :: text
    integer :: i
    do i = 1, 16
      associate (digit => int(iand(shiftr(h, 64 - 4 * i), 15_int64)))
        text(i:i) = '0123456789abcdef'(digit + 1:digit + 1)
      end associate
    end do
  end function hexadecimal

  integer function bytes_of(dtype)
    character(*), intent(in) :: dtype
    select case (dtype)
    case ('i8', 'u8', 'bool')
      bytes_of = 1
    case ('i16', 'u16', 'f16', 'bf16')
      bytes_of = 2
    case ('i32', 'u32', 'f32')
      bytes_of = 4
    case default
      bytes_of = 8
    end select
  end function bytes_of

  ! Of a floating type: the bits of its fraction and the bias of its exponent; 0 of others.
  subroutine format_of(dtype, fraction, bias)
    character(*), intent(in) :: dtype
    integer, intent(out) :: fraction
    integer(int64), intent(out) :: bias
    fraction = 0
    bias = 127
    if (dtype == 'f64') fraction = 52
    if (dtype == 'f32') fraction = 23
    if (dtype == 'f16') fraction = 10
    if (dtype == 'bf16') fraction = 7
    if (dtype == 'f64') bias = 1023
    if (dtype == 'f16') bias = 15
  end subroutine format_of

  integer(int64) function sign_bit(dtype)
    character(*), intent(in) :: dtype
    sign_bit = shiftl(1_int64, 8 * bytes_of(dtype) - 1)
  end function sign_bit

  integer(int64) function infinity(dtype)
    character(*), intent(in) :: dtype
    integer(int64) :: bias
    integer :: fraction
    call format_of(dtype, fraction, bias)
    infinity = shiftl(2 * bias + 1, fraction)
  end function infinity

  integer(int64) function quiet_nan(dtype)
    character(*), intent(in) :: dtype
    integer(int64) :: bias
    integer :: fraction
    call format_of(dtype, fraction, bias)
    quiet_nan = ior(infinity(dtype), shiftl(1_int64, fraction - 1))
  end function quiet_nan

  integer(int64) function small(dtype, n)
    character(*), intent(in) :: dtype
    integer(int64), intent(in) :: n
    integer, parameter :: powers(4) = [0, 1, 1, 2]
    integer(int64) :: bias
    integer :: fraction, power
    small = 0
    if (n == 0) return
    call format_of(dtype, fraction, bias)
    power = powers(abs(n))
    small = shiftl(bias + power, fraction) + shiftl(abs(n) - shiftl(1_int64, power), fraction - power)
    if (n < 0) small = ior(small, sign_bit(dtype))
  end function small

  integer(int64) function special(dtype, c)
    character(*), intent(in) :: dtype
    integer(int64), intent(in) :: c
    select case (c)
    case (0)
      special = quiet_nan(dtype)
    case (1)
      special = infinity(dtype)
    case (2)
      special = ior(infinity(dtype), sign_bit(dtype))
    case (3)
      special = sign_bit(dtype)
    case (4)
      special = 0
    case (5)
      special = 1
    case (6)
      special = ior(1_int64, sign_bit(dtype))
    case default
      special = small(dtype, iand(c, 7_int64) - 4)
    end select
  end function special

  integer(int64) function next(s)
    integer(int64), intent(inout) :: s
    s = iand(s * 1664525 + 1013904223, word)
    next = s
  end function next

  ! The bits of the next element, the lowest of an int64.
  integer(int64) function element(dtype, data, s)
    character(*), intent(in) :: dtype, data
    integer(int64), intent(inout) :: s
    integer(int64) :: first, bias
    integer :: fraction
    call format_of(dtype, fraction, bias)
    first = next(s)
    if (dtype == 'bool') then
      element = shiftr(first, 31)
    else if (data == 'specials') then
      element = special(dtype, shiftr(first, 27))
    else if (data == 'ties' .and. fraction > 0) then
      element = small(dtype, shiftr(first, 29) - 4)
    else if (data == 'ties') then
      element = shiftr(first, 29)
      if (dtype(1:1) == 'i') element = element - 4
    else if (fraction == 0) then
      element = shiftr(first, max(0, 32 - 8 * bytes_of(dtype)))
      if (bytes_of(dtype) == 8) element = ior(shiftl(first, 32), next(s))
    else
      element = shiftl(bias - 8 + iand(shiftr(first, 27), 15_int64), fraction)
      if (first > shiftr(word, 1)) element = ior(element, sign_bit(dtype))
      if (dtype == 'f64') then
        element = ior(element, ior(shiftl(iand(shiftr(first, 7), int(z'fffff', int64)), 32), next(s)))
      else
        element = ior(element, shiftr(iand(first, int(z'7ffffff', int64)), 27 - fraction))
      end if
    end if
  end function element

  ! The number of `bytes` bytes, with a sign, that has these bits.
  integer(int64) function signed(bits, bytes)
    integer(int64), intent(in) :: bits
    integer, intent(in) :: bytes
    signed = bits
    if (bytes == 8) return
    signed = iand(bits, maskr(8 * bytes, int64))
    if (btest(bits, 8 * bytes - 1)) signed = signed - shiftl(1_int64, 8 * bytes)
  end function signed

  ! A tensor of so many elements: those of the generator that begins with seed, zeros if that is 0.
  function filled(dtype, data, n, seed) result(m)
    character(*), intent(in) :: dtype, data
    integer(int64), intent(in) :: n, seed
    type(memory) :: m
    integer(int64), allocatable :: bits(:)
    integer(int64) :: s, i
    allocate (bits(n))
    bits = 0
    s = seed
    if (seed > 0) then
      do i = 1, n
        bits(i) = signed(element(dtype, data, s), bytes_of(dtype))
      end do
    end if
    select case (dtype)
    case ('f64')
      m%f64 = transfer(bits, 0._real64, n)
    case ('f32')
      m%f32 = transfer(int(bits, int32), 0._real32, n)
    case default
      if (bytes_of(dtype) == 1) m%i8 = int(bits, int8)
      if (bytes_of(dtype) == 2) m%i16 = int(bits, int16)
      if (bytes_of(dtype) == 4) m%i32 = int(bits, int32)
      if (bytes_of(dtype) == 8) m%i64 = bits
    end select
  end function filled

  function bits_of(m) result(bits)
    type(memory), intent(in) :: m
    integer(int64), allocatable :: bits(:)
    if (allocated(m%f64)) bits = transfer(m%f64, 0_int64, size(m%f64))
    if (allocated(m%f32)) bits = transfer(m%f32, 0_int32, size(m%f32))
    if (allocated(m%i8)) bits = m%i8
    if (allocated(m%i16)) bits = m%i16
    if (allocated(m%i32)) bits = m%i32
    if (allocated(m%i64)) bits = m%i64
  end function bits_of

  ! FNV-1a; the prime is 2^40 + 435, and no product exceeds an int64.
  subroutine hash(h, dtype, bits)
    integer(int64), intent(inout) :: h
    character(*), intent(in) :: dtype
    integer(int64), intent(in) :: bits(:)
    integer(int64) :: lower, upper, value, magnitude
    integer :: b, i
    do i = 1, size(bits)
      value = iand(bits(i), maskr(8 * bytes_of(dtype), int64))
      if (index('f64 f32 f16 bf16', dtype) > 0) then
        magnitude = iand(value, not(sign_bit(dtype)))
        if (magnitude > infinity(dtype)) value = quiet_nan(dtype)
      end if
      do b = 0, bytes_of(dtype) - 1
        h = ieor(h, iand(shiftr(value, 8 * b), 255_int64))
        lower = iand(h, word) * 435
        upper = shiftr(h, 32) * 435 + shiftr(lower, 32) + shiftl(iand(h, int(z'ffffff', int64)), 8)
        h = ior(shiftl(iand(upper, word), 32), iand(lower, word))
      end do
    end do
  end subroutine hash

  subroutine forward(p, x, y)
    type(problem), intent(in) :: p
    type(memory), intent(inout) :: x, y
    if (allocated(x%f64)) call p%forward(x%f64, y%f64)
    if (allocated(x%f32)) call p%forward(x%f32, y%f32)
    if (allocated(x%i8)) call p%forward(x%i8, y%i8)
    if (allocated(x%i16)) call p%forward(x%i16, y%i16)
    if (allocated(x%i32)) call p%forward(x%i32, y%i32)
    if (allocated(x%i64)) call p%forward(x%i64, y%i64)
  end subroutine forward

  subroutine backward(p, x, dy, dx)
    type(problem), intent(in) :: p
    type(memory), intent(inout) :: x, dy, dx
    if (allocated(x%f64)) call p%backward(dy%f64, dx%f64, x%f64)
    if (allocated(x%f32)) call p%backward(dy%f32, dx%f32, x%f32)
    if (allocated(x%i8)) call p%backward(dy%i8, dx%i8, x%i8)
    if (allocated(x%i16)) call p%backward(dy%i16, dx%i16, x%i16)
    if (allocated(x%i32)) call p%backward(dy%i32, dx%i32, x%i32)
    if (allocated(x%i64)) call p%backward(dy%i64, dx%i64, x%i64)
  end subroutine backward

  ! The same with indices, of any kind: forward, then what `step` says, into out.
  subroutine indexed(p, step, x, y, indices, space, dy, out)
    type(problem), intent(in) :: p
    character(*), intent(in) :: step
    type(memory), intent(inout) :: x, y, dy, out
    type(*), intent(inout) :: indices(..)
    integer, intent(in) :: space
    if (allocated(x%f64)) call p%forward(x%f64, y%f64, indices, space)
    if (allocated(x%f32)) call p%forward(x%f32, y%f32, indices, space)
    if (allocated(x%i8)) call p%forward(x%i8, y%i8, indices, space)
    if (allocated(x%i16)) call p%forward(x%i16, y%i16, indices, space)
    if (allocated(x%i32)) call p%forward(x%i32, y%i32, indices, space)
    if (allocated(x%i64)) call p%forward(x%i64, y%i64, indices, space)
    if (step == 'backward') then
      if (allocated(x%f64)) call p%backward(dy%f64, out%f64, indices=indices, space=space)
      if (allocated(x%f32)) call p%backward(dy%f32, out%f32, indices=indices, space=space)
      if (allocated(x%i8)) call p%backward(dy%i8, out%i8, indices=indices, space=space)
      if (allocated(x%i16)) call p%backward(dy%i16, out%i16, indices=indices, space=space)
      if (allocated(x%i32)) call p%backward(dy%i32, out%i32, indices=indices, space=space)
      if (allocated(x%i64)) call p%backward(dy%i64, out%i64, indices=indices, space=space)
    else if (step == 'unpool') then
      if (allocated(x%f64)) call p%unpool(y%f64, indices, out%f64, space)
      if (allocated(x%f32)) call p%unpool(y%f32, indices, out%f32, space)
      if (allocated(x%i8)) call p%unpool(y%i8, indices, out%i8, space)
      if (allocated(x%i16)) call p%unpool(y%i16, indices, out%i16, space)
      if (allocated(x%i32)) call p%unpool(y%i32, indices, out%i32, space)
      if (allocated(x%i64)) call p%unpool(y%i64, indices, out%i64, space)
    end if
  end subroutine indexed

  integer(int64) function result_of(text)
    character(*), intent(in) :: text
    type(problem) :: p
    type(memory) :: x, y, dy, dx, indices
    character(:), allocatable :: name, words, data, dtype, index_dtype, step
    integer :: space
    name = text(:index(text // '@', '@') - 1)
    words = text(len(name) + 1:) // '@'
    data = 'numbers'
    if (index(words, '@ties@') > 0) data = 'ties'
    if (index(words, '@specials@') > 0) data = 'specials'
    call p%parse(name)
    dtype = p%dtype()
    index_dtype = p%index_dtype()
    space = p%index_space()
    if (index(words, '@tensor@') > 0) space = space_tensor
    if (index(words, '@window@') > 0) space = space_window
    if (index(words, '@i32@') > 0) index_dtype = 'i32'
    step = 'forward'
    if (p%is_backward()) step = 'backward'
    if (index(words, '@unpool@') > 0) step = 'unpool'
    x = filled(dtype, data, product(p%input_shape()), 1_int64)
    dy = filled(dtype, data, product(p%output_shape()), 2_int64)
    y = filled(dtype, data, product(p%output_shape()), 0_int64)
    dx = filled(dtype, data, product(p%input_shape()), 0_int64)
    if (index_dtype /= '') indices = filled(index_dtype, data, product(p%output_shape()), 0_int64)
    if (index_dtype == 'u8') then
      call indexed(p, step, x, y, indices%i8, space, dy, dx)
    else if (index_dtype == 'i32') then
      call indexed(p, step, x, y, indices%i32, space, dy, dx)
    else if (index_dtype == 'i64') then
      call indexed(p, step, x, y, indices%i64, space, dy, dx)
    else if (step == 'backward') then
      call backward(p, x, dy, dx)
    else
      call forward(p, x, y)
    end if
    result_of = ieor(int(z'4bf29ce484222325', int64), sign_bit('i64'))
    if (step /= 'forward') then
      call hash(result_of, dtype, bits_of(dx))
      return
    end if
    call hash(result_of, dtype, bits_of(y))
    if (index_dtype /= '') call hash(result_of, index_dtype, bits_of(indices))
  end function result_of

end program test_vectors
