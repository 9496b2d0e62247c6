"""Machines that each share their processor among all jobs present, event by event, in virtual time.

While n jobs are present each is served at rate 1/n. The virtual time V grows at that rate, dV/dt =
1/n(t), so a job that comes at V_a with size s leaves when V reaches V_a + s, whoever comes or goes
meanwhile: the next to leave is the least of a heap of these targets, and nothing else has to be
moved.
"""

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled


@compiled
def share_processors(
    times: FloatArray,
    places: IndexArray,
    sizes: FloatArray,
    jobs: IndexArray,
    until: float,
    clocks: FloatArray,
    present: IndexArray,
    targets: FloatArray,
    holders: IndexArray,
    departures: FloatArray,
) -> None:
    """Let jobs come to machines, and serve until a given time.

    Job k comes at `times[k]`, sorted, none before the clocks and none after `until`, to machine
    `places[k]`, with `sizes[k]` >= 0 and the name `jobs[k]`. When a job leaves, the time is written
    to `departures` at its name; names below 0 are not written. Machine i is `clocks[i]`, its time
    and its virtual time, and a heap of `present[i]` jobs: `targets[i]`, and who has them,
    `holders[i]`, with room for all that come. It goes on in the next call.
    """
    for k in range(len(times)):
        i = places[k]
        _advance(times[k], clocks[i], present[i : i + 1], targets[i], holders[i], departures)
        _rise(targets[i], holders[i], present[i], clocks[i, 1] + sizes[k], jobs[k])
        present[i] += 1
    for i in range(len(clocks)):
        _advance(until, clocks[i], present[i : i + 1], targets[i], holders[i], departures)


@compiled
def _advance(
    until: float,
    clock: FloatArray,
    present: IndexArray,
    targets: FloatArray,
    holders: IndexArray,
    departures: FloatArray,
) -> None:
    """Serve the jobs of one machine until a given time."""
    time, virtual, n = clock[0], clock[1], present[0]
    while n > 0:
        wait = max(targets[0] - virtual, 0.0) * n
        if time + wait > until:
            virtual += (until - time) / n
            break
        time += wait
        virtual = targets[0]
        if holders[0] >= 0:
            departures[holders[0]] = time
        n -= 1
        _sink(targets, holders, n)
    clock[0], clock[1], present[0] = until, virtual, n


@compiled
def _rise(targets: FloatArray, holders: IndexArray, count: int, target: float, job: int) -> None:
    """Add a job to a heap of `count`."""
    place = count
    while place > 0:
        parent = (place - 1) // 2
        if targets[parent] <= target:
            break
        targets[place], holders[place] = targets[parent], holders[parent]
        place = parent
    targets[place], holders[place] = target, job


@compiled
def _sink(targets: FloatArray, holders: IndexArray, count: int) -> None:
    """Put the last job of a heap of `count` + 1 at its head, whose job has left, and let it sink."""
    target, job = targets[count], holders[count]
    place = 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and targets[child + 1] < targets[child]:
            child += 1
        if targets[child] >= target:
            break
        targets[place], holders[place] = targets[child], holders[child]
        place = child
    targets[place], holders[place] = target, job
