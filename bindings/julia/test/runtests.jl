# Values and errors, and the shared vectors (tests/vectors/vectors.txt in Oriel's sources, whose head says what they are):
# ORIEL_VECTORS names the file.
using Oriel, Test

const FORMATS = Dict("f64" => (52, 1023), "f32" => (23, 127), "f16" => (10, 15), "bf16" => (7, 127))
const TYPES = Dict("f64" => Float64, "f32" => Float32, "f16" => Float16, "bf16" => UInt16, "i8" => Int8, "u8" => UInt8, "i16" => Int16,
                   "u16" => UInt16, "i32" => Int32, "u32" => UInt32, "i64" => Int64, "u64" => UInt64, "bool" => Bool)
const NAMES = ["f64", "f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"]

sign_bit(dtype) = UInt64(1) << (8 * sizeof(TYPES[dtype]) - 1)
infinity(dtype) = UInt64(2 * FORMATS[dtype][2] + 1) << FORMATS[dtype][1]
quiet_nan(dtype) = infinity(dtype) | UInt64(1) << (FORMATS[dtype][1] - 1)

function small(dtype, n)
    n == 0 && return UInt64(0)
    fraction, bias = FORMATS[dtype]
    power = abs(n) == 4 ? 2 : abs(n) >= 2 ? 1 : 0
    bits = UInt64(bias + power) << fraction | UInt64(abs(n) - 2^power) << (fraction - power)
    return n < 0 ? bits | sign_bit(dtype) : bits
end

function special(dtype, c)
    c == 0 && return quiet_nan(dtype)
    c == 1 && return infinity(dtype)
    c == 2 && return infinity(dtype) | sign_bit(dtype)
    c == 3 && return sign_bit(dtype)
    c == 4 && return UInt64(0)
    c == 5 && return UInt64(1)
    c == 6 && return UInt64(1) | sign_bit(dtype)
    return small(dtype, Int(c & 7) - 4)
end

function element(dtype, data, next)
    s = next()
    floating = haskey(FORMATS, dtype)
    bytes = sizeof(TYPES[dtype])
    dtype == "bool" && return UInt64(s >> 31)
    data == "specials" && return special(dtype, s >> 27)
    data == "ties" && floating && return small(dtype, Int(s >> 29) - 4)
    data == "ties" && return (Int64(s >> 29) - (dtype[1] == 'i' ? 4 : 0)) % UInt64
    !floating && return bytes == 8 ? UInt64(s) << 32 | next() : UInt64(s >> (32 - 8 * bytes))
    fraction, bias = FORMATS[dtype]
    head = (s >> 31 == 1 ? sign_bit(dtype) : UInt64(0)) | UInt64(bias - 8 + (s >> 27 & 15)) << fraction
    return dtype == "f64" ? head | UInt64(s >> 7 & 0xfffff) << 32 | next() : head | UInt64(s & 0x7ffffff) >> (27 - fraction)
end

unsigned_type(T) = (UInt8, UInt16, UInt32, UInt64)[trailing_zeros(sizeof(T))+1]
from_bits(::Type{Bool}, bits) = bits != 0
from_bits(::Type{T}, bits) where {T} = reinterpret(T, bits % unsigned_type(T))
to_bits(v::Bool) = UInt64(v)
to_bits(v::T) where {T} = UInt64(reinterpret(unsigned_type(T), v))

function filled(dtype, data, n, seed)
    state = UInt32(seed)
    next() = (state = state * 0x0019660d + 0x3c6ef35f)
    return [from_bits(TYPES[dtype], element(dtype, data, next)) for _ in 1:n]
end

function hash_of(h, dtype, values)
    for value in values
        bits = to_bits(value)
        haskey(FORMATS, dtype) && bits & ~sign_bit(dtype) > infinity(dtype) && (bits = quiet_nan(dtype))
        for b in 0:sizeof(TYPES[dtype])-1
            h = (h ⊻ (bits >> 8b & 0xff)) * 0x00000100000001b3
        end
    end
    return h
end

function result_of(name)
    words = split(name, '@')
    p = Problem(words[1])
    dtype = NAMES[p.info.dtype+1]
    data = "ties" in words ? "ties" : "specials" in words ? "specials" : "numbers"
    n, m = prod(Oriel.input_size(p)), prod(Oriel.output_size(p))
    x, dy = filled(dtype, data, n, 1), filled(dtype, data, m, 2)
    y, dx = similar(dy), similar(x)
    space = "tensor" in words ? Oriel.TENSOR : "window" in words ? Oriel.WINDOW : p.info.index_space
    index = p.info.index_dtype < 0 ? nothing : "i32" in words ? "i32" : NAMES[p.info.index_dtype+1]
    indices = index === nothing ? nothing : Vector{TYPES[index]}(undef, m)
    backward = p.info.direction == 1
    (indices !== nothing || !backward) && Oriel.forward!(p, y, x; indices, space)
    start = 0xcbf29ce484222325
    backward && return hash_of(start, dtype, Oriel.backward!(p, dx, dy, indices === nothing ? x : nothing; indices, space))
    "unpool" in words && return hash_of(start, dtype, Oriel.unpool!(p, dx, y, indices; space))
    h = hash_of(start, dtype, y)
    return index === nothing ? h : hash_of(h, index, indices)
end

@testset "values" begin
    x = reshape(Float64.(mod.((1:42) .* 17, 43) .- 20), 6, 7)
    y, indices = pool_indices(x, 2)
    @test y == [maximum(x[2i-1:2i, 2j-1:2j]) for i in 1:3, j in 1:3]
    @test x[indices] == y
    @test pool_gradient(x, y, 2) == pool_gradient(x, y, 2; indices) == unpool(x, y, indices, 2)
    @test pool(x, 2; op = :sum, dims = 1) == [x[2i-1, j] + x[2i, j] for i in 1:3, j in 1:7]
    @test pool(view(x, 6:-1:1, 1:2:7), 2) == pool(x[6:-1:1, 1:2:7], 2)
    @test size(pool(x; output_size = (2, 3))) == (2, 3)
    @test_throws Oriel.OrielError pool(x, 2; stride = 0)
    @test_throws Oriel.OrielError Problem("nonsense")
end

@testset "shared vectors" begin
    lines = filter(line -> !isempty(line) && line[1] != '#', readlines(ENV["ORIEL_VECTORS"]))
    @test length(lines) > 1000
    for line in lines
        name, wanted = split(line)
        @test (name, string(result_of(name); base = 16, pad = 16)) == (name, wanted)
    end
end
