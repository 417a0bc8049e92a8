// Package oriel pools arrays by Oriel: the same bits on every processor, number of threads and memory layout.
//
// A Problem is a pool on a tensor of one element type and shape, described by a name such as
// max:f32:8x64x112x112:k3x3s2p1. Tensors are slices that hold all elements without gaps, in the problem's memory order
// (row-major unless its name says another one).
package oriel

// #cgo pkg-config: oriel_c
// #include "bridge.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Float16 and BFloat16 are the bits of numbers of 16 bits: IEEE 754's, and the upper half of a float32.
type (
	Float16  uint16
	BFloat16 uint16
)

// Element is a type that tensors are made of.
type Element interface {
	float64 | float32 | Float16 | BFloat16 | int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | bool
}

// Index is a type of indices: int64, and in space Window also uint8 and int32.
type Index interface{ int64 | int32 | uint8 }

// Dtype is an element type as a number.
type Dtype int32

const (
	F64 Dtype = iota
	F32
	F16
	BF16
	I8
	U8
	I16
	U16
	I32
	U32
	I64
	U64
	Bool
)

// Space is what indices count: places of the pooled plane, of the whole tensor, or taps of the window.
type Space int32

const (
	Plane Space = iota
	Tensor
	Window
)

// Error is why a call failed.
type Error struct {
	Status int // ORIEL_INVALID ... of oriel/c.h
	Text   string
}

func (e *Error) Error() string { return e.Text }

func invalid(format string, values ...any) error {
	return &Error{int(C.ORIEL_INVALID), fmt.Sprintf(format, values...)}
}

func check(e *C.bridge_error) error {
	if e.status == C.ORIEL_OK {
		return nil
	}
	return &Error{int(e.status), C.GoString(&e.text[0])}
}

// DtypeOf is the number of a type of elements.
func DtypeOf[T Element]() Dtype {
	var zero T
	switch any(zero).(type) {
	case float64:
		return F64
	case float32:
		return F32
	case Float16:
		return F16
	case BFloat16:
		return BF16
	case int8:
		return I8
	case uint8:
		return U8
	case int16:
		return I16
	case uint16:
		return U16
	case int32:
		return I32
	case uint32:
		return U32
	case int64:
		return I64
	case uint64:
		return U64
	default:
		return Bool
	}
}

// Problem is a pool on a tensor of one element type and shape. It does not change: goroutines may share it.
type Problem struct {
	handle *C.oriel_problem
	info   *C.oriel_problem_info // in C's memory
	// Threads that a call uses at most; 0: all that the process may use.
	Threads int
}

// Parse makes the problem that a name describes.
func Parse(name string) (*Problem, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var e C.bridge_error
	p := &Problem{info: (*C.oriel_problem_info)(C.malloc(C.sizeof_oriel_problem_info))}
	runtime.SetFinalizer(p, func(p *Problem) {
		C.oriel_problem_free(p.handle)
		C.free(unsafe.Pointer(p.info))
	})
	C.bridge_parse(text, &p.handle, &e)
	if err := check(&e); err != nil {
		return nil, err
	}
	C.bridge_describe(p.handle, p.info, &e)
	return p, check(&e)
}

func values(from []C.int64_t) []int {
	out := make([]int, len(from))
	for i, v := range from {
		out[i] = int(v)
	}
	return out
}

func product(shape []int) int {
	n := 1
	for _, extent := range shape {
		n *= extent
	}
	return n
}

// Shape and OutputShape are those of the input and the result.
func (p *Problem) Shape() []int       { return values(p.info.shape[:p.info.rank]) }
func (p *Problem) OutputShape() []int { return values(p.info.output_shape[:p.info.rank]) }

// Len and OutputLen are the elements of the input and the result.
func (p *Problem) Len() int       { return product(p.Shape()) }
func (p *Problem) OutputLen() int { return product(p.OutputShape()) }

// Dtype is that of all tensors but indices.
func (p *Problem) Dtype() Dtype { return Dtype(p.info.dtype) }

// Axes are the pooled ones.
func (p *Problem) Axes() []int { return values(p.info.axes[:p.info.pooled]) }

// Backward says whether the name asks for the gradient.
func (p *Problem) Backward() bool { return p.info.direction == C.ORIEL_BACKWARD }

// Indices says which indices the name asks for, and whether it does.
func (p *Problem) Indices() (Dtype, Space, bool) {
	return Dtype(p.info.index_dtype), Space(p.info.index_space), p.info.index_dtype >= 0
}

// String is the shortest name of the problem.
func (p *Problem) String() string {
	var text [512]C.char
	var e C.bridge_error
	C.bridge_name(p.handle, &text[0], C.size_t(len(text)), &e)
	runtime.KeepAlive(p)
	return C.GoString(&text[0])
}

// The memory of a slice that must be a tensor of the problem.
func memory[T Element](p *Problem, name string, values []T, wanted int, dtype Dtype) (unsafe.Pointer, error) {
	if len(values) != wanted {
		return nil, invalid("%s must have %d elements, but has %d", name, wanted, len(values))
	}
	if got := DtypeOf[T](); got != dtype {
		return nil, invalid("%s must have the dtype of %v, but has another", name, p)
	}
	if len(values) == 0 {
		return nil, nil
	}
	return unsafe.Pointer(&values[0]), nil
}

// Forward sets y to the pool of x.
func Forward[T Element](p *Problem, x, y []T) error {
	return forward[T, int64](p, x, y, nil, -1, Plane)
}

// ForwardIndices also sets indices to where each maximum or minimum was.
func ForwardIndices[T Element, I Index](p *Problem, x, y []T, indices []I, space Space) error {
	return forward(p, x, y, indices, DtypeOf[I](), space)
}

func forward[T Element, I Index](p *Problem, x, y []T, indices []I, dtype Dtype, space Space) error {
	px, err := memory(p, "x", x, p.Len(), p.Dtype())
	if err != nil {
		return err
	}
	py, err := memory(p, "y", y, p.OutputLen(), p.Dtype())
	if err != nil {
		return err
	}
	var pi unsafe.Pointer
	if dtype >= 0 {
		if pi, err = memory(p, "indices", indices, p.OutputLen(), dtype); err != nil {
			return err
		}
	}
	var e C.bridge_error
	C.bridge_forward(p.handle, p.info, px, py, pi, C.int32_t(dtype), C.int32_t(space), C.int32_t(p.Threads), &e)
	runtime.KeepAlive(p)
	return check(&e)
}

// Backward sets dx to the gradient of the pool at x, given that of its result, dy.
func Backward[T Element](p *Problem, x, dy, dx []T) error {
	px, err := memory(p, "x", x, p.Len(), p.Dtype())
	if err != nil {
		return err
	}
	return backward(p, px, dy, nil, -1, Plane, dx)
}

// BackwardIndices sets dx to the gradient of a maximum or minimum whose indices ForwardIndices gave.
func BackwardIndices[T Element, I Index](p *Problem, dy []T, indices []I, space Space, dx []T) error {
	dtype := DtypeOf[I]()
	pi, err := memory(p, "indices", indices, p.OutputLen(), dtype)
	if err != nil {
		return err
	}
	return backward(p, pi, dy, pi, dtype, space, dx)
}

func backward[T Element](p *Problem, x unsafe.Pointer, dy []T, indices unsafe.Pointer, dtype Dtype, space Space, dx []T) error {
	pdy, err := memory(p, "dy", dy, p.OutputLen(), p.Dtype())
	if err != nil {
		return err
	}
	pdx, err := memory(p, "dx", dx, p.Len(), p.Dtype())
	if err != nil {
		return err
	}
	var e C.bridge_error
	C.bridge_backward(p.handle, p.info, x, pdy, indices, C.int32_t(dtype), C.int32_t(space), pdx, C.int32_t(p.Threads), &e)
	runtime.KeepAlive(p)
	return check(&e)
}

// Unpool sets x to zeros, and the elements of y where their indices, in space Plane or Tensor, say.
func Unpool[T Element](p *Problem, y []T, indices []int64, space Space, x []T) error {
	py, err := memory(p, "y", y, p.OutputLen(), p.Dtype())
	if err != nil {
		return err
	}
	pi, err := memory(p, "indices", indices, p.OutputLen(), I64)
	if err != nil {
		return err
	}
	px, err := memory(p, "x", x, p.Len(), p.Dtype())
	if err != nil {
		return err
	}
	var e C.bridge_error
	C.bridge_unpool(p.info, py, pi, C.int32_t(space), px, C.int32_t(p.Threads), &e)
	runtime.KeepAlive(p)
	return check(&e)
}

// Version is that of the library.
func Version() string { return C.GoString(C.oriel_version()) }

// ActiveTarget is the instruction set in use.
func ActiveTarget() (string, error) {
	var text [64]C.char
	var e C.bridge_error
	C.bridge_active_target(&text[0], C.size_t(len(text)), &e)
	return C.GoString(&text[0]), check(&e)
}

// SetTarget uses another instruction set from now on; "": the best.
func SetTarget(name string) error {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var e C.bridge_error
	C.bridge_set_target(text, &e)
	return check(&e)
}
