"""oriel.jax on two devices: shard_map over the batch, and arrays that are spread over devices."""

import functools
import os

# Read by XLA when its first backend starts, which no module of these tests does when it is imported.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import oriel.jax  # noqa: E402
import pytest  # noqa: E402
from jax.sharding import AxisType, NamedSharding, PartitionSpec  # noqa: E402
from test_jax_transforms import POOLS, distinct, energy, every_pool  # noqa: E402

BATCH = PartitionSpec("batch")


@pytest.fixture
def mesh():
    assert jax.device_count() >= 2, "JAX was started before this module set the number of devices"
    return jax.make_mesh((2,), ("batch",), axis_types=(AxisType.Auto,))


def near(ours, wanted):
    np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-5)


@every_pool
@pytest.mark.parametrize("check_vma", [True, False])
def test_shard_map_over_the_batch(mesh, pool, check_vma):
    x, t = distinct((4, 5, 4, 2)), distinct((2, 5, 4, 2), 1)
    spread = lambda f, specs=BATCH: jax.jit(
        jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=BATCH, check_vma=check_vma)
    )  # noqa: E731
    sharded = spread(pool)
    np.testing.assert_array_equal(sharded(x), pool(x))
    near(jax.grad(energy(sharded))(x), jax.grad(energy(pool))(x))
    near(spread(jax.grad(energy(pool)))(x), jax.grad(energy(pool))(x))
    near(jax.jvp(sharded, (x,), (2 * x,))[1], jax.jvp(pool, (x,), (2 * x,))[1])
    # A tangent that is the same on all devices beside an x that is not.
    pushed = spread(lambda x, t: jax.jvp(pool, (x,), (t,))[1], (BATCH, PartitionSpec()))(x, t)
    near(pushed, jax.jvp(pool, (x,), (jnp.concatenate([t, t]),))[1])


@every_pool
def test_gradients_of_what_all_devices_share(mesh, pool):
    x, scale = distinct((4, 5, 4, 2)), jnp.float32(1.5)

    def loss(scale, x):
        return jax.lax.psum((pool(scale * x) ** 2).sum(), "batch")

    sharded = jax.shard_map(loss, mesh=mesh, in_specs=(PartitionSpec(), BATCH), out_specs=PartitionSpec())
    np.testing.assert_allclose(
        jax.grad(sharded)(scale, x), jax.grad(lambda s: (pool(s * x) ** 2).sum())(scale), rtol=1e-4
    )


@pytest.mark.parametrize("name", ["max", "lp3", "lp inf"])
def test_operands_of_which_one_varies(mesh, name):
    """The tangent along one t differs between devices where x does, and JAX is told so."""
    pool = POOLS[name]
    x, t = distinct((4, 5, 4, 2)), distinct((2, 5, 4, 2), 1)
    push = lambda x, t: jax.jvp(pool, (x,), (t,))[1]  # noqa: E731
    mapped = functools.partial(jax.shard_map, mesh=mesh, in_specs=(BATCH, PartitionSpec()), out_specs=PartitionSpec())
    added = mapped(lambda x, t: jax.lax.psum(push(x, t), "batch"))
    near(added(x, t), push(x[:2], t) + push(x[2:], t))
    with pytest.raises(ValueError, match="out_specs"):
        mapped(push)(x, t)


@pytest.mark.parametrize(
    "spec", [PartitionSpec("batch"), PartitionSpec(None, "batch"), PartitionSpec(None, None, None, "batch")]
)
def test_spread_arrays_give_the_same_results(mesh, spec):
    x = distinct((4, 6, 4, 2))
    spread = jax.device_put(x, NamedSharding(mesh, spec))
    for pool in (POOLS["max"], POOLS["avg"], POOLS["lp3"], POOLS["channels first"]):
        np.testing.assert_array_equal(jax.jit(pool)(spread), pool(x))
        near(jax.jit(jax.grad(energy(pool)))(spread), jax.grad(energy(pool))(x))


@every_pool
def test_a_spread_batch_is_pooled_where_it_is(mesh, pool):
    sharding = NamedSharding(mesh, BATCH)
    x = jax.device_put(distinct((4, 5, 4, 2)), sharding)
    push = lambda x: jax.jvp(pool, (x,), (2 * x,))[1]  # noqa: E731
    for function in (pool, jax.grad(energy(pool)), push):
        compiled = jax.jit(function).lower(x).compile()
        assert "all-gather" not in compiled.as_text()
        assert compiled(x).sharding.is_equivalent_to(sharding, 4)
        near(compiled(x), function(jnp.asarray(np.asarray(x))))
    rows = jax.jit(jax.vmap(pool))(jax.device_put(distinct((4, 1, 5, 4, 2)), sharding))
    assert rows.sharding.is_equivalent_to(sharding, 5)


def test_many_axes_before_the_pooled_ones(mesh):
    """More axes than Shardy has letters for, in a call with two operands."""
    shape = (2,) * 4 + (1,) * 8 + (3, 3, 1)
    x = jax.device_put(distinct(shape), NamedSharding(mesh, BATCH))
    pool = lambda x: oriel.jax.max_pool(x, (2, 2))  # noqa: E731
    compiled = jax.jit(jax.grad(energy(pool))).lower(x).compile()
    assert "all-gather" not in compiled.as_text()
    near(compiled(x), jax.grad(energy(pool))(jnp.asarray(np.asarray(x))))


def test_shardings_in_types():
    """A mesh whose shardings are part of the types of arrays."""
    explicit = jax.make_mesh((2,), ("batch",), axis_types=(AxisType.Explicit,))
    x = distinct((4, 6, 4, 2))
    with jax.set_mesh(explicit):
        for spec in (BATCH, PartitionSpec(None, None, None, "batch")):
            spread = jax.device_put(x, NamedSharding(explicit, spec))
            for pool in (POOLS["max"], POOLS["avg"], POOLS["lp3"]):
                y, dx = jax.jit(pool)(spread), jax.jit(jax.grad(energy(pool)))(spread)
                assert y.sharding.is_equivalent_to(spread.sharding, 4) and dx.sharding.is_equivalent_to(
                    spread.sharding, 4
                )
                near(y, pool(x))
                near(dx, jax.grad(energy(pool))(x))
