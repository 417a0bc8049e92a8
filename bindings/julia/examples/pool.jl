# The largest of each 2x2 of a matrix, where it was, and the gradient that goes back there.
using Oriel

x = Float32.(reshape(mod.((0:23) .* 7, 24), 6, 4))
y, indices = pool_indices(x, 2)
println(Problem(x, 2), " makes arrays of size ", size(y))
println(vec(y), " at ", vec(indices))

dx = pool_gradient(x, y, 2; indices)
println(count(dx .> 0), " inputs have a gradient")
try
    pool(x, 9)
catch e
    println(e.text)
end
