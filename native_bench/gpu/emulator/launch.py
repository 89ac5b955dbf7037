"""One launch: arguments against the kernel's declaration, variables into memory, blocks in chunks."""

from collections.abc import Sequence

from native_bench.gpu.emulator.arguments import Argument, argument_bytes
from native_bench.gpu.emulator.budget import Budget, LaunchCost, Meter
from native_bench.gpu.emulator.chunk import Chunk, Launch
from native_bench.gpu.emulator.faults import Fault, FaultKind, LaunchFault, Unsupported, refuse_arguments
from native_bench.gpu.emulator.memory import Buffer, DeviceMemory
from native_bench.gpu.emulator.program import Program
from native_bench.gpu.emulator.races import AccessTable, Identities
from native_bench.gpu.emulator.stepping import Stepper
from native_bench.gpu.occupancy import MULTIPROCESSORS
from submissions.kernel_package.launches import BLOCK_MAX, BLOCK_THREADS, GRID_MAX

Extents = tuple[int, int, int]

# What a block may have on sm_90, static and dynamic together.
_MOST_SHARED_BYTES = MULTIPROCESSORS[9, 0].shared_bytes_per_block
# A granule's write and read entries.
_TABLE_BYTES = 16


def run_launch(
    program: Program,
    shape: tuple[Extents, Extents, int],
    arguments: Sequence[Argument],
    memory: DeviceMemory,
    variables: dict[str, Buffer],
    budget: Budget,
) -> LaunchCost:
    """Run a kernel; `shape` is grid, block and bytes of dynamic shared memory. See `Module.launch`."""
    grid, block, shared_bytes = shape
    _check_shape(program, grid, block, shared_bytes)
    parameters = _parameters(program, arguments)
    launch = _launch(program, shape, memory, variables, parameters)
    launch.names = {
        argument.range_number: f"argument {at} ({argument.name})"
        for at, argument in enumerate(arguments)
        if isinstance(argument, Buffer)
    }
    return _run_chunks(launch, budget)


def _check_shape(program: Program, grid: Extents, block: Extents, shared_bytes: int) -> None:
    threads = block[0] * block[1] * block[2]
    for what, extents, most in (("grid", grid, GRID_MAX), ("block", block, BLOCK_MAX)):
        if len(extents) != 3 or not all(1 <= extent <= limit for extent, limit in zip(extents, most, strict=True)):
            raise refuse_arguments(f"a {what} of {extents}: each extent must be from 1 to {most}")
    most_threads = min(BLOCK_THREADS, program.max_threads or BLOCK_THREADS)
    if threads > most_threads:
        raise refuse_arguments(f"a block of {threads} threads: {program.name} allows {most_threads}")
    if program.required_threads not in (None, block):
        raise refuse_arguments(f"a block of {block}: {program.name} requires {program.required_threads}")
    shared = program.shared_layout(shared_bytes).variable_bytes
    if shared_bytes < 0 or shared > _MOST_SHARED_BYTES:
        raise refuse_arguments(f"{shared} bytes of shared memory: a block may have {_MOST_SHARED_BYTES}")


def _parameters(program: Program, arguments: Sequence[Argument]) -> dict[str, bytes]:
    if len(arguments) != len(program.parameters):
        message = f"{program.name} takes {len(program.parameters)} arguments, the launch passes {len(arguments)}"
        raise refuse_arguments(message)
    return {
        parameter.name: argument_bytes(at, parameter, argument)
        for at, (parameter, argument) in enumerate(zip(program.parameters, arguments, strict=True))
    }


def _launch(
    program: Program,
    shape: tuple[Extents, Extents, int],
    memory: DeviceMemory,
    variables: dict[str, Buffer],
    parameters: dict[str, bytes],
) -> Launch:
    grid, block, shared_bytes = shape
    buffers = {
        name: memory.allocate(len(parameters[name]), f"parameter {name}", is_read_only=True, fill=parameters[name])
        for name in sorted(program.addressed_parameters)
    }
    identities = Identities(block[0] * block[1] * block[2], grid[0] * grid[1] * grid[2])
    if not identities.fits:
        raise Unsupported("a grid of more than some hundred million threads")
    table = AccessTable(memory.used_bytes // program.granule + 16, is_per_block=False)
    return Launch(
        program, grid, block, shared_bytes, memory, variables, parameters, buffers, {}, identities, table
    )


def _run_chunks(launch: Launch, budget: Budget) -> LaunchCost:
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    per_chunk = min(blocks, _blocks_per_chunk(launch, budget))
    meter, now = Meter(budget), 0
    for first in range(0, blocks, per_chunk):
        chunk = Chunk(launch, first, min(first + per_chunk, blocks), now)
        Stepper(chunk, meter, is_alone=per_chunk == blocks).run()
        now = chunk.now
    return meter.cost()


def _blocks_per_chunk(launch: Launch, budget: Budget) -> int:
    """Return how many blocks run side by side, within the budget of memory."""
    program, threads = launch.program, launch.threads_per_block
    shared = program.shared_layout(launch.shared_bytes).nbytes
    per_block = threads * program.bytes_per_thread() + shared * (1 + _TABLE_BYTES // program.granule)
    fitting = budget.memory_bytes // per_block
    if fitting == 0:
        message = f"one block takes {per_block} bytes here, over the {budget.memory_bytes} bytes of the budget"
        raise LaunchFault(Fault(FaultKind.MEMORY_BUDGET, message))
    return max(1, min(fitting, budget.threads_per_chunk // threads))
