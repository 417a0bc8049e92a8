package oriel

import (
	"bufio"
	"fmt"
	"math/bits"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// The shared vectors (tests/vectors/vectors.txt, whose head says what they are).

type format struct {
	fraction uint
	bias     uint64
}

var formats = map[Dtype]format{F64: {52, 1023}, F32: {23, 127}, F16: {10, 15}, BF16: {7, 127}}

type line struct {
	*Problem
	data  string
	words map[string]bool
}

func size[T Element]() uint {
	var zero T
	return uint(unsafe.Sizeof(zero))
}

func sign[T Element](negative bool) uint64 {
	if !negative {
		return 0
	}
	return 1 << (8*size[T]() - 1)
}

func (f format) infinity() uint64 { return (2*f.bias + 1) << f.fraction }
func (f format) nan() uint64      { return f.infinity() | 1<<(f.fraction-1) }

func small[T Element](f format, n int) uint64 {
	magnitude := uint64(n)
	if n < 0 {
		magnitude = uint64(-n)
	}
	if n == 0 {
		return 0
	}
	power := uint(bits.Len64(magnitude) - 1)
	return sign[T](n < 0) | (f.bias+uint64(power))<<f.fraction | (magnitude-1<<power)<<(f.fraction-power)
}

func special[T Element](f format, c uint32) uint64 {
	switch c {
	case 0:
		return f.nan()
	case 1:
		return f.infinity()
	case 2:
		return sign[T](true) | f.infinity()
	case 3:
		return sign[T](true)
	case 4:
		return 0
	case 5:
		return 1
	case 6:
		return sign[T](true) | 1
	}
	return small[T](f, int(c&7)-4)
}

func element[T Element](data string, next func() uint32) uint64 {
	dtype := DtypeOf[T]()
	f, floating := formats[dtype]
	s := next()
	switch {
	case dtype == Bool:
		return uint64(s >> 31)
	case data == "specials":
		return special[T](f, s>>27)
	case data == "ties" && floating:
		return small[T](f, int(s>>29)-4)
	case data == "ties" && (dtype == I8 || dtype == I16 || dtype == I32 || dtype == I64):
		return uint64(int64(s>>29) - 4)
	case data == "ties":
		return uint64(s >> 29)
	case floating:
		head := sign[T](s>>31 != 0) | (f.bias-8+uint64(s>>27&15))<<f.fraction
		if dtype == F64 {
			return head | uint64(s>>7&0xfffff)<<32 | uint64(next())
		}
		return head | uint64(s&0x7ffffff)>>(27-f.fraction)
	case size[T]() == 8:
		return uint64(s)<<32 | uint64(next())
	}
	return uint64(s >> (32 - 8*size[T]()))
}

// A slice's memory as numbers of the element's size.
func load[T Element](v *T) uint64 {
	p := unsafe.Pointer(v)
	switch size[T]() {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func store[T Element](v *T, bits uint64) {
	p := unsafe.Pointer(v)
	switch size[T]() {
	case 1:
		*(*uint8)(p) = uint8(bits)
	case 2:
		*(*uint16)(p) = uint16(bits)
	case 4:
		*(*uint32)(p) = uint32(bits)
	default:
		*(*uint64)(p) = bits
	}
}

func fill[T Element](n int, data string, state uint32) []T {
	next := func() uint32 {
		state = state*1664525 + 1013904223
		return state
	}
	out := make([]T, n)
	for i := range out {
		store(&out[i], element[T](data, next))
	}
	return out
}

func hash[T Element](h uint64, values []T) uint64 {
	f, floating := formats[DtypeOf[T]()]
	for i := range values {
		b := load(&values[i])
		if floating && b&^sign[T](true) > f.infinity() {
			b = f.nan()
		}
		for k := uint(0); k < size[T](); k++ {
			h = (h ^ b>>(8*k)&0xff) * 0x100000001b3
		}
	}
	return h
}

const start = 0xcbf29ce484222325

func indexed[T Element, I Index](l line, space Space) (uint64, error) {
	x, y := fill[T](l.Len(), l.data, 1), make([]T, l.OutputLen())
	indices, dx := make([]I, l.OutputLen()), make([]T, l.Len())
	if err := ForwardIndices(l.Problem, x, y, indices, space); err != nil {
		return 0, err
	}
	switch {
	case l.Backward():
		err := BackwardIndices(l.Problem, fill[T](l.OutputLen(), l.data, 2), indices, space, dx)
		return hash(start, dx), err
	case l.words["unpool"]:
		places := make([]int64, len(indices))
		for i, v := range indices {
			places[i] = int64(v)
		}
		err := Unpool(l.Problem, y, places, space, dx)
		return hash(start, dx), err
	}
	return hash(hash(start, y), indices), nil
}

func run[T Element](l line) (uint64, error) {
	if dtype, space, ok := l.Indices(); ok {
		if l.words["tensor"] {
			space = Tensor
		}
		if l.words["window"] {
			space = Window
		}
		switch {
		case l.words["i32"]:
			return indexed[T, int32](l, space)
		case dtype == U8:
			return indexed[T, uint8](l, space)
		}
		return indexed[T, int64](l, space)
	}
	x := fill[T](l.Len(), l.data, 1)
	if l.Backward() {
		dx := make([]T, l.Len())
		err := Backward(l.Problem, x, fill[T](l.OutputLen(), l.data, 2), dx)
		return hash(start, dx), err
	}
	y := make([]T, l.OutputLen())
	err := Forward(l.Problem, x, y)
	return hash(start, y), err
}

func result(name string) (uint64, error) {
	words := strings.Split(name, "@")
	p, err := Parse(words[0])
	if err != nil {
		return 0, err
	}
	l := line{p, "numbers", map[string]bool{}}
	for _, word := range words[1:] {
		l.words[word] = true
		if word == "ties" || word == "specials" {
			l.data = word
		}
	}
	runs := []func(line) (uint64, error){run[float64], run[float32], run[Float16], run[BFloat16], run[int8], run[uint8],
		run[int16], run[uint16], run[int32], run[uint32], run[int64], run[uint64], run[bool]}
	return runs[p.Dtype()](l)
}

func TestSharedVectors(t *testing.T) {
	path := os.Getenv("ORIEL_VECTORS")
	if path == "" {
		path = "../../tests/vectors/vectors.txt"
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	count := 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		parts := strings.Fields(scanner.Text())
		if len(parts) != 2 || parts[0][0] == '#' {
			continue
		}
		got, err := result(parts[0])
		if err != nil {
			t.Fatalf("%s: %v", parts[0], err)
		}
		if fmt.Sprintf("%016x", got) != parts[1] {
			t.Errorf("%s %s is %016x in Go", parts[0], parts[1], got)
		}
		count++
	}
	if count < 1000 {
		t.Fatalf("%d vectors", count)
	}
	target, err := ActiveTarget()
	t.Logf("%d vectors on %s by %s (%v)", count, target, Version(), err)
}

func TestErrors(t *testing.T) {
	expect := func(err error, words string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v lacks %q", err, words)
		}
	}
	_, err := Parse("max:f32:6:k9")
	expect(err, "on axis 0 it spans 9 and the padded input is 6")
	p, err := Parse("max:f32:4x4:k2")
	if err != nil || p.String() != "max:f32:4x4:k2" {
		t.Fatal(err, p)
	}
	expect(Forward(p, make([]float32, 15), make([]float32, 4)), "x must have 16 elements, but has 15")
	expect(Forward(p, make([]float64, 16), make([]float64, 4)), "x must have the dtype of max:f32:4x4:k2")
	expect(BackwardIndices(p, make([]float32, 4), []int64{0, 16, 0, 0}, Plane, make([]float32, 16)), "16")
	expect(SetTarget("nonsense"), "'nonsense'")
	p.Threads = -1
	expect(Forward(p, make([]float32, 16), make([]float32, 4)), "threads must be >= 0")
}

func TestGoroutinesShareAProblem(t *testing.T) {
	p, err := Parse("sum:i32:1000:k10")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for g := 0; g < 8; g++ {
		go func() {
			x, y := make([]int32, 1000), make([]int32, 100)
			for i := range x {
				x[i] = 3
			}
			err := Forward(p, x, y)
			for _, v := range y {
				if v != 30 && err == nil {
					err = fmt.Errorf("a sum is %d", v)
				}
			}
			done <- err
		}()
	}
	for g := 0; g < 8; g++ {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
