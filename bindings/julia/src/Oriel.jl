"""
Pooling by Oriel: the same bits on every processor, number of threads and memory layout. `liboriel_c.so.1` must be where the
loader finds it (`LD_LIBRARY_PATH`).

    y = Oriel.pool(x, 2)
    y, indices = Oriel.pool_indices(x, (3, 3); stride = 2, padding = 1)
    y = Oriel.pool(x, 3; op = :avg, dims = (1, 2))
"""
module Oriel

export Problem, pool, pool_indices, pool_gradient, unpool

const library = "liboriel_c.so.1"
const abi = 1
const OPS = (max = 0, min = 1, avg = 2, sum = 3, lp = 4)
const PLANE, TENSOR, WINDOW = Int32(0), Int32(1), Int32(2)
const ELEMENTS = (Float64, Float32, Float16, nothing, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Bool)

# The structs of oriel/c.h.
struct CTensor
    size::Csize_t
    data::Ptr{Cvoid}
    dtype::Int32
    device::Int32
    rank::Int32
    reserved::Int32
    shape::Ptr{Int64}
    pitch::Ptr{Int64}
end

struct CPool
    size::Csize_t
    op::Int32
    kind::Int32
    padding::Int32
    nan_policy::Int32
    ceil_mode::Int32
    exclude::Int32
    divisor::Int64
    norm::Float64
    values::Int32
    pooled::Int32
    kernel::Ptr{Int64}
    stride::Ptr{Int64}
    pad_lo::Ptr{Int64}
    pad_hi::Ptr{Int64}
    dilation::Ptr{Int64}
    output_size::Ptr{Int64}
    axes::Ptr{Int64}
end

struct CRun
    size::Csize_t
    threads::Int32
    reserved::Int32
    stream::Ptr{Cvoid}
end

struct CInfo
    size::Csize_t
    op::Int32
    dtype::Int32
    rank::Int32
    pooled::Int32
    direction::Int32
    index_dtype::Int32
    index_space::Int32
    reserved::Int32
    taps::Int64
    axes::NTuple{8,Int64}
    shape::NTuple{16,Int64}
    output_shape::NTuple{16,Int64}
    pitch::NTuple{16,Int64}
    output_pitch::NTuple{16,Int64}
end

"Why a call failed."
struct OrielError <: Exception
    text::String
end
Base.showerror(io::IO, e::OrielError) = print(io, "oriel: ", e.text)

check(status) = status == 0 || throw(OrielError(unsafe_string(@ccall library.oriel_last_error()::Cstring)))

function __init__()
    found = @ccall library.oriel_abi()::UInt32
    found == abi || error("liboriel_c has ABI $found, but this package needs $abi")
end

"""
    Problem(name)
    Problem(x, kernel; op = :max, stride, padding, dilation, dims, output_size, ...)

A pool on arrays of one type and shape, of a name such as `"max:f32:4x6:k2"`, which lists the axes from the outermost, or
of an array like those it takes. See [`pool`](@ref) for the keywords.
"""
mutable struct Problem
    handle::Ptr{Cvoid}
    info::CInfo
    function Problem(handle::Ptr{Cvoid})
        info = Ref{CInfo}()
        GC.@preserve info begin
            raw = Base.unsafe_convert(Ptr{CInfo}, info)
            unsafe_store!(Ptr{Csize_t}(raw), sizeof(CInfo))
            check(@ccall library.oriel_problem_describe(handle::Ptr{Cvoid}, raw::Ptr{CInfo})::Int32)
        end
        problem = new(handle, info[])
        return finalizer(p -> @ccall(library.oriel_problem_free(p.handle::Ptr{Cvoid})::Cvoid), problem)
    end
end

function Problem(name::AbstractString)
    handle = Ref{Ptr{Cvoid}}(C_NULL)
    check(@ccall library.oriel_problem_parse(name::Cstring, handle::Ref{Ptr{Cvoid}})::Int32)
    return Problem(handle[])
end

"The shapes of the arrays that a problem takes and makes."
input_size(p::Problem) = Tuple(reverse(p.info.shape[1:p.info.rank]))
output_size(p::Problem) = Tuple(reverse(p.info.output_shape[1:p.info.rank]))

function Base.show(io::IO, p::Problem)
    text = zeros(UInt8, 1024)
    check(@ccall library.oriel_problem_name(p.handle::Ptr{Cvoid}, text::Ptr{UInt8}, 1024::Csize_t, C_NULL::Ptr{Csize_t})::Int32)
    print(io, "Problem(\"", unsafe_string(pointer(text)), "\")")
end

function dtype_of(::Type{T}) where {T}
    number = findfirst(==(T), ELEMENTS)
    number === nothing && throw(OrielError("x must have elements of a type that C has, but has $T"))
    return Int32(number - 1)
end

# Whole numbers for C, whose axes are reversed; `nothing` stays.
list(::Nothing, values) = nothing
list(given, values) = reverse(Int64[(length(given) == 1 ? Iterators.repeated(first(given), values) : given)...])
address(::Nothing) = Ptr{Int64}(C_NULL)
address(given::Vector{Int64}) = pointer(given)

function Problem(x::AbstractArray{T,N}, kernel = nothing; op = :max, stride = nothing, padding = nothing, padding_after = nothing,
                 dilation = nothing, dims = nothing, output_size = nothing, whole = false, same = false, ceil_mode = false,
                 exclude_padding = false, omit_nan = false, divisor = 0, norm = 2) where {T,N}
    haskey(OPS, op) || throw(OrielError("op must be one of $(keys(OPS)), but is $op"))
    given = (kernel, stride, padding, padding_after, dilation, output_size)
    values = maximum(length(g) for g in given if g !== nothing; init = 0)
    for g in given
        g === nothing || length(g) in (1, values) ||
            throw(OrielError("lists must have 1 value or as many as the longest, $values, but one has $(length(g))"))
    end
    lists = map(g -> list(g, values), given)
    axes = dims === nothing ? nothing : reverse(Int64[N - d for d in dims])
    shape = Int64[reverse(size(x))...]
    kind = whole ? 2 : output_size === nothing ? 0 : 1
    handle = Ref{Ptr{Cvoid}}(C_NULL)
    GC.@preserve lists axes shape begin
        c = CPool(sizeof(CPool), OPS[op], kind, same, omit_nan, ceil_mode, exclude_padding, divisor, op == :lp ? norm : 0, values,
                  axes === nothing ? 0 : length(axes), map(address, lists)..., address(axes))
        check(@ccall library.oriel_problem_make(Ref(c)::Ref{CPool}, dtype_of(T)::Int32, N::Int32, shape::Ptr{Int64},
                                                handle::Ref{Ptr{Cvoid}})::Int32)
    end
    return Problem(handle[])
end

# An array as a tensor, its axes reversed; a vector of all elements in the problem's memory order stands for any tensor.
struct View{A<:AbstractArray}
    array::A
    dtype::Int32
    shape::Vector{Int64}
    pitch::Vector{Int64}
end

function View(p::Problem, name, x::StridedArray{T,N}, of_input, dtype) where {T,N}
    rank = p.info.rank
    bytes = @ccall library.oriel_dtype_bytes(dtype::Int32)::Int64
    ELEMENTS[dtype+1] in (T, nothing) && sizeof(T) == bytes || throw(OrielError("$name must not have elements of type $T"))
    N == rank && return View(x, dtype, Int64[reverse(size(x))...], Int64[reverse(strides(x))...])
    shape = Int64[(of_input ? p.info.shape : p.info.output_shape)[1:rank]...]
    pitch = Int64[(of_input ? p.info.pitch : p.info.output_pitch)[1:rank]...]
    N == 1 && stride(x, 1) == 1 && length(x) == prod(shape) ||
        throw(OrielError("$name must have $rank dimensions, or 1 and $(prod(shape)) elements, but has size $(size(x))"))
    return View(x, dtype, shape, pitch)
end

raw(::Nothing) = Ptr{CTensor}(C_NULL)
raw(v::View) = [CTensor(sizeof(CTensor), pointer(v.array), v.dtype, 0, length(v.shape), 0, pointer(v.shape), pointer(v.pitch))]
index_view(p, indices) = View(p, "indices", indices, false, dtype_of(eltype(indices)))
run_of(threads) = Ref(CRun(sizeof(CRun), threads, 0, C_NULL))

"y = the pool of x; `indices`, if given, where each maximum or minimum was, from 0."
function forward!(p::Problem, y, x; indices = nothing, space = PLANE, threads = 0)
    vx, vy = View(p, "x", x, true, p.info.dtype), View(p, "y", y, false, p.info.dtype)
    vi = indices === nothing ? nothing : index_view(p, indices)
    GC.@preserve vx vy vi begin
        check(@ccall library.oriel_forward(p.handle::Ptr{Cvoid}, raw(vx)::Ptr{CTensor}, raw(vy)::Ptr{CTensor},
                                           raw(vi)::Ptr{CTensor}, space::Int32, run_of(threads)::Ref{CRun})::Int32)
    end
    return y
end

"dx = the gradient of the pool at x, given that of its result; with indices x may be `nothing`."
function backward!(p::Problem, dx, dy, x; indices = nothing, space = PLANE, threads = 0)
    vdx, vdy = View(p, "dx", dx, true, p.info.dtype), View(p, "dy", dy, false, p.info.dtype)
    vx = x === nothing ? nothing : View(p, "x", x, true, p.info.dtype)
    vi = indices === nothing ? nothing : index_view(p, indices)
    GC.@preserve vx vdx vdy vi begin
        check(@ccall library.oriel_backward(p.handle::Ptr{Cvoid}, raw(vx)::Ptr{CTensor}, raw(vdy)::Ptr{CTensor},
                                            raw(vi)::Ptr{CTensor}, space::Int32, raw(vdx)::Ptr{CTensor},
                                            run_of(threads)::Ref{CRun})::Int32)
    end
    return dx
end

"x = zeros, but the elements of y where their indices, from 0, say."
function unpool!(p::Problem, x, y, indices; space = PLANE, threads = 0)
    vx, vy, vi = View(p, "x", x, true, p.info.dtype), View(p, "y", y, false, p.info.dtype), index_view(p, indices)
    axes = Int64[p.info.axes[1:p.info.pooled]...]
    GC.@preserve vx vy vi begin
        check(@ccall library.oriel_unpool(p.info.pooled::Int32, axes::Ptr{Int64}, raw(vy)::Ptr{CTensor}, raw(vi)::Ptr{CTensor},
                                          space::Int32, raw(vx)::Ptr{CTensor}, run_of(threads)::Ref{CRun})::Int32)
    end
    return x
end

"""
    pool(x, kernel; op = :max, stride, padding, padding_after, dilation, dims, output_size, whole, same, ceil_mode,
         exclude_padding, omit_nan, divisor, norm, threads = 0)

One number of each window of `x`. `kernel` and lists have one number for all pooled dimensions or one for each; `dims` are
those that are pooled, all unless given. `op` is `:max`, `:min`, `:avg`, `:sum` or `:lp`.
"""
function pool(x::StridedArray, kernel = nothing; threads = 0, keywords...)
    p = Problem(x, kernel; keywords...)
    return forward!(p, similar(x, output_size(p)), x; threads)
end

"The same of `:max` and `:min`, and where each was: linear indices of the pooled dimensions; 0 if a window has no element."
function pool_indices(x::StridedArray, kernel = nothing; threads = 0, keywords...)
    p = Problem(x, kernel; keywords...)
    y, indices = similar(x, output_size(p)), Array{Int64}(undef, output_size(p))
    forward!(p, y, x; indices, threads)
    return y, indices .+ 1
end

"The gradient of `pool(x, kernel; ...)`, given that of its result. `indices` are those that `pool_indices` gave."
function pool_gradient(x::StridedArray, dy::StridedArray, kernel = nothing; indices = nothing, threads = 0, keywords...)
    p = Problem(x, kernel; keywords...)
    places = indices === nothing ? nothing : Int64.(indices) .- 1
    return backward!(p, similar(x), dy, indices === nothing ? x : nothing; indices = places, threads)
end

"Zeros of the shape of `x`, but the elements of `y` at their indices; the other arguments are those of the pool."
function unpool(x::StridedArray, y::StridedArray, indices, kernel = nothing; threads = 0, keywords...)
    return unpool!(Problem(x, kernel; keywords...), similar(x), y, Int64.(indices) .- 1; threads)
end

version() = unsafe_string(@ccall library.oriel_version()::Cstring)

end
