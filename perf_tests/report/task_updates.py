# SPDX-License-Identifier: Apache-2.0
"""The updates of tiles at random that perf_tests/task_graphs runs in a small memory, as a graph for strata-simulate: what they move
where a kernel and a copy take as long as in a measured run, and where these times vary. For simulate_schedules --updates."""

TILES, READ = 1600, 800  # the second half is updated, each tile from two of the first
TILE_BYTES = 1024 * 1024 * 4
MEMORY_BYTES = TILES // 10 * TILE_BYTES
# Of h100_task_graphs_slow_host.json, in seconds: a kernel; a copy as measured, and as schedulers there expected it.
KERNEL = 82.71e-6
COPIES = {"measured": 79.89e-6, "expected": 96.93e-6}
JITTER, SEEDS = 5, range(1, 6)  # percent
SCHEDULERS = ("eager", "eager-prefetch", "lws", "lfq", "dmda", "dmdas", "ap", "darts", "darts-lru", "darts-corrected", "data-aware")


def random_words(seed):
    """What std::mt19937(seed) draws."""
    state = [seed]
    for k in range(1, 624):
        state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + k) & 0xffffffff)
    while True:
        for k in range(624):
            word = state[k] & 0x80000000 | state[(k + 1) % 624] & 0x7fffffff
            state[k] = state[(k + 397) % 624] ^ word >> 1 ^ (0x9908b0df if word & 1 else 0)
        for word in state:
            word ^= word >> 11
            word ^= word << 7 & 0x9d2c5680
            word ^= word << 15 & 0xefc60000
            yield word ^ word >> 18


def graph():
    """As TileUpdates of perf_tests/common/task_tiles.hpp."""
    words = random_words(2)
    tasks = []
    for k in range(2 * TILES):
        a = next(words) % READ
        b = (a + 1 + next(words) % (READ - 1)) % READ
        c = READ + next(words) % (TILES - READ)
        tasks.append({"name": f"update {k}", "kernel": "update", "work": 1, "in": [f"tile {a}", f"tile {b}"], "inout": [f"tile {c}"]})
    return {"arrays": [{"name": f"tile {k}", "bytes": TILE_BYTES} for k in range(TILES)], "tasks": tasks}


def machine(copy):
    return {"name": "one GPU", "devices": [{"name": "GPU", "memory": MEMORY_BYTES, "rates": {"update": 1 / KERNEL}}],
            "links": [{"name": "link", "bytes_per_second": TILE_BYTES / copy, "joins": [["host", "*"]]}]}


def wanted_runs():
    variations = [{"copy": "expected"}, {"copy": "measured"}, *[{"copy": "measured", "jitter": JITTER, "seed": seed} for seed in SEEDS]]
    return [{"scheduler": scheduler, **variation} for scheduler in SCHEDULERS for variation in variations]


def options_of(wanted):
    """Further options of strata-simulate."""
    return ["--jitter", str(wanted["jitter"]), "--seed", str(wanted["seed"])] if "jitter" in wanted else []
