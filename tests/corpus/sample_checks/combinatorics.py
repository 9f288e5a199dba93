"""Brute-force answer checks for the combinatorics problems of the sample corpus."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import prod

Cell = tuple[int, int]


def _steps_path_count(goal: Cell, blocked: set[Cell], steps: Iterable[Cell]) -> int:
    """Count walks from the origin to the goal with the given steps off the blocked cells."""
    ways = {(0, 0): 1}
    for x in range(goal[0] + 1):
        for y in range(goal[1] + 1):
            if (x, y) == (0, 0):
                continue
            total = sum(ways.get((x - dx, y - dy), 0) for dx, dy in steps)
            ways[x, y] = 0 if (x, y) in blocked else total
    return ways[goal]


def _max_matching(adjacency: list[list[int]], right: int) -> int:
    """Size of a maximum bipartite matching (augmenting paths)."""
    owner = [-1] * right

    def augment(u: int, seen: set[int]) -> bool:
        for v in adjacency[u]:
            if v not in seen:
                seen.add(v)
                if owner[v] < 0 or augment(owner[v], seen):
                    owner[v] = u
                    return True
        return False

    return sum(augment(u, set()) for u in range(len(adjacency)))


def _connected(n: int, edges: Iterable[tuple[int, int]]) -> bool:
    """Tell whether the graph on 0..n-1 is connected."""
    near: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    seen, todo = {0}, [0]
    while todo:
        for v in near[todo.pop()]:
            if v not in seen:
                seen.add(v)
                todo.append(v)
    return len(seen) == n


def _cyclic_triples(beats: list[list[bool]]) -> int:
    """Count the cyclic triples of a tournament given by its win matrix."""
    return sum(
        beats[a][b] == beats[b][c] == beats[c][a] for a, b, c in combinations(range(len(beats)), 3)
    )


def _graphs(n: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the edge lists of all graphs on n labelled vertices."""
    pairs = list(combinations(range(n), 2))
    for mask in range(1 << len(pairs)):
        yield [e for i, e in enumerate(pairs) if mask >> i & 1]


def _placements(shape: Iterable[Cell], rows: int, cols: int) -> list[int]:
    """Bit masks of all translates of a shape that fit on the board."""
    cells = list(shape)
    masks = []
    for r, c in product(range(rows), range(cols)):
        moved = [(r + dr, c + dc) for dr, dc in cells]
        if all(0 <= a < rows and 0 <= b < cols for a, b in moved):
            masks.append(sum(1 << (a * cols + b) for a, b in moved))
    return masks


def _by_lowest(masks: Iterable[int]) -> dict[int, list[int]]:
    """Group bit masks by the index of their lowest bit."""
    table: dict[int, list[int]] = {}
    for m in masks:
        table.setdefault((m & -m).bit_length() - 1, []).append(m)
    return table


def _max_packing(masks: Iterable[int], cells: int) -> int:
    """Largest number of pairwise disjoint masks on a board with that many cells."""
    table = _by_lowest(masks)

    @cache
    def best(i: int, used: int) -> int:
        if i == cells:
            return 0
        value = best(i + 1, used & ~(1 << i))
        if not used >> i & 1:
            for m in table.get(i, []):
                if not m & used:
                    value = max(value, 1 + best(i + 1, (used | m) & ~(1 << i)))
        return value

    return best(0, 0)


def _count_exact_covers(masks: Iterable[int], cells: int, covered: int = 0) -> int:
    """Number of ways to cover every cell outside `covered` exactly once."""
    table = _by_lowest(masks)
    full = (1 << cells) - 1

    @cache
    def count(used: int) -> int:
        if used == full:
            return 1
        low = (~used & -~used).bit_length() - 1
        return sum(count(used | m) for m in table.get(low, []) if not m & used)

    return count(covered)


def com_001() -> object:
    """Enumerate the arrangements of seven digits."""
    return sum(p[1] != 2 and p[3] != 4 and p[5] != 6 for p in permutations(range(1, 8)))


def com_002() -> object:
    """Enumerate the self-inverse permutations of eight objects."""
    return sum(all(p[p[i]] == i for i in range(8)) for p in permutations(range(8)))


def com_003() -> object:
    """Average the number of local maxima over all orders of eight heights."""
    total = count = 0
    for p in permutations(range(8)):
        line = (-1, *p, -1)
        total += sum(line[i - 1] < line[i] > line[i + 1] for i in range(1, 9))
        count += 1
    return Fraction(total, count)


def com_004() -> object:
    """Enumerate the painting orders of eight strips."""

    def legal(p: tuple[int, ...]) -> bool:
        done = 1 << p[0]
        for s in p[1:]:
            if not (done << 1 | done >> 1) >> s & 1:
                return False
            done |= 1 << s
        return True

    return sum(legal(p) for p in permutations(range(8)))


def com_005() -> object:
    """Enumerate the subsets of 1..12 by their sum."""
    return sum(sum(c) % 3 == 0 for k in range(13) for c in combinations(range(1, 13), k))


def com_006() -> object:
    """Find the largest sum-avoiding choice by trying all sets of admitted residues."""
    best = 0
    for mask in range(1 << 9):
        residues = {r for r in range(9) if mask >> r & 1}
        if any(r != 0 and (9 - r) in residues for r in residues):
            continue
        size = sum(1 for n in range(1, 41) if n % 9 in residues and n % 9)
        best = max(best, size + (0 in residues))
    return best + 1


def com_007() -> object:
    """Sum the intersection sizes over all pairs of subsets."""
    return sum((a & b).bit_count() for a in range(64) for b in range(64))


def com_008() -> object:
    """Enumerate the selections of nine weights."""
    return sum(sum(c) > 22 for k in range(10) for c in combinations(range(1, 10), k))


def com_009() -> object:
    """Enumerate the triples of subsets of a five-element set."""
    return sum(a & b & c == 0 for a, b, c in product(range(32), repeat=3))


def com_010() -> object:
    """Count routes around the flooded point by dynamic programming."""
    return _steps_path_count((6, 5), {(3, 2)}, [(1, 0), (0, 1)])


def com_011() -> object:
    """Count paths below the diagonal by dynamic programming."""
    blocked = {(x, y) for x in range(8) for y in range(5) if y >= x}
    return _steps_path_count((7, 4), blocked - {(0, 0)}, [(1, 0), (0, 1)])


def com_012() -> object:
    """Enumerate the king walks depth first."""

    def walks(x: int, y: int) -> int:
        if x > 5 or y > 3:
            return 0
        if (x, y) == (5, 3):
            return 1
        return walks(x + 1, y) + walks(x, y + 1) + walks(x + 1, y + 1)

    return walks(0, 0)


def com_013() -> object:
    """Average the area below all shortest paths."""
    areas = []
    for ups in combinations(range(11), 4):
        height = area = 0
        for step in range(11):
            if step in ups:
                height += 1
            else:
                area += height
        areas.append(area)
    return Fraction(sum(areas), len(areas))


def com_014() -> object:
    """Enumerate the paintings of seven boats."""
    return sum(len(set(c)) == 4 for c in product(range(4), repeat=7))


def com_015() -> object:
    """Enumerate the covers of a circle of eight tents."""
    return sum(all(c[i] != c[i - 1] for i in range(8)) for c in product(range(4), repeat=8))


def com_016() -> object:
    """Count one-company triples in several 4-regular red graphs on eight vertices."""
    results = set()
    for jumps in ((1, 2), (1, 3), (2, 3)):
        red = [[min((a - b) % 8, (b - a) % 8) in jumps for b in range(8)] for a in range(8)]
        for a, b, c, d in permutations(range(8), 4):
            if red[a][b] and red[c][d] and not red[a][c] and not red[b][d]:
                for x, y, value in ((a, b, False), (c, d, False), (a, c, True), (b, d, True)):
                    red[x][y] = red[y][x] = value
            assert all(sum(row) == 4 for row in red)
            if a < b < c < d:
                results.add(
                    sum(
                        red[x][y] == red[y][z] == red[x][z] for x, y, z in combinations(range(8), 3)
                    )
                )
    (answer,) = results
    return answer


def com_017() -> object:
    """Search for the longest three-row board without a one-coloured rectangle."""
    columns = list(product((0, 1), repeat=3))

    def clash(u: tuple[int, ...], v: tuple[int, ...]) -> bool:
        same = [u[i] for i in range(3) if u[i] == v[i]]
        return same.count(0) > 1 or same.count(1) > 1

    def longest(chosen: list[tuple[int, ...]]) -> int:
        options = [c for c in columns if not any(clash(c, d) for d in chosen)]
        return max((longest([*chosen, c]) for c in options), default=len(chosen))

    return longest([]) + 1


def com_018() -> object:
    """Find the largest triangle-free graph on seven vertices by branching on its edges."""
    pairs = list(combinations(range(7), 2))
    best = 0

    def grow(i: int, near: list[int], size: int) -> None:
        nonlocal best
        if size + len(pairs) - i <= best:
            return
        if i == len(pairs):
            best = size
            return
        a, b = pairs[i]
        if not near[a] & near[b]:
            more = near.copy()
            more[a] |= 1 << b
            more[b] |= 1 << a
            grow(i + 1, more, size + 1)
        grow(i + 1, near, size)

    grow(0, [0] * 7, 0)
    return len(pairs) - best


def com_019() -> object:
    """Remove as few roads as possible to leave a graph with an Eulerian trail."""
    pairs = list(combinations(range(8), 2))
    for k in range(len(pairs)):
        for removed in combinations(pairs, k):
            degree = [7] * 8
            for a, b in removed:
                degree[a] -= 1
                degree[b] -= 1
            if sum(d % 2 for d in degree) <= 2 and _connected(8, set(pairs) - set(removed)):
                return len(pairs) - k
    return None


def com_020() -> object:
    """Enumerate the drawings on five points without an isolated point."""
    return sum(len({v for e in edges for v in e}) == 5 for edges in _graphs(5))


def com_021() -> object:
    """Enumerate the connected graphs on five vertices."""
    return sum(_connected(5, edges) for edges in _graphs(5))


def com_022() -> object:
    """Count cyclic triples in many tournaments with the given scores."""
    beats = [[False] * 8 for _ in range(8)]
    for a in range(8):
        for d in (1, 2, 3):
            beats[a][(a + d) % 8] = True
        if a < 4:
            beats[a][a + 4] = True
    results = set()
    for a, b, c in permutations(range(8), 3):
        if beats[a][b] and beats[b][c] and beats[c][a]:
            for x, y in ((a, b), (b, c), (c, a)):
                beats[x][y], beats[y][x] = False, True
        assert sorted(sum(row) for row in beats) == [3] * 4 + [4] * 4
        results.add(_cyclic_triples(beats))
    (answer,) = results
    return answer


def com_023() -> object:
    """Average the number of cyclic triples over all tournaments of five players."""
    pairs = list(combinations(range(5), 2))
    total = 0
    for results in product((False, True), repeat=len(pairs)):
        beats = [[False] * 5 for _ in range(5)]
        for (a, b), won in zip(pairs, results, strict=True):
            beats[a][b], beats[b][a] = won, not won
        total += _cyclic_triples(beats)
    return Fraction(total, 2 ** len(pairs))


def com_024() -> object:
    """Search all score sequences of ten players (Landau's condition)."""
    best = 0

    def extend(scores: list[int], total: int) -> None:
        nonlocal best
        k = len(scores)
        if total < k * (k - 1) // 2:
            return
        if k == 10:
            if total == 45:
                best = max(best, scores[5])
            return
        for s in range(scores[-1] if scores else 0, 10):
            if total + s * (10 - k) > 45:
                break
            extend([*scores, s], total + s)

    extend([], 0)
    return best


def com_025() -> object:
    """Play the knock-out bracket for every draw of eight judoka."""
    good = total = 0
    for draw in permutations(range(8)):
        field: tuple[int, ...] | list[int] = draw
        while len(field) > 2:
            field = [max(field[i], field[i + 1]) for i in range(0, len(field), 2)]
        good += min(field) == 6
        total += 1
    return Fraction(good, total)


def com_026() -> object:
    """Maximise the number of games over all pairings by dynamic programming."""

    @cache
    def longest(clean: int, once: int) -> int:
        if clean + once <= 1:
            return 0
        options = []
        if clean >= 1 and clean + once >= 2:
            options.append(1 + longest(clean - 1, once + 1))
        if once >= 1:
            options.append(1 + longest(clean, once - 1))
        return max(options)

    return longest(23, 0)


def com_027() -> object:
    """Solve the pebble game for all heap sizes up to fifty."""
    wins = [False]
    for n in range(1, 51):
        wins.append(any(not wins[n - t] for t in (1, 3, 4) if t <= n))
    return sum(not w for w in wins[1:])


def com_028() -> object:
    """Solve the cherry game for all bowls up to one thousand."""
    wins = [False, False]
    for n in range(2, 1001):
        wins.append(any(not wins[n - t] for t in range(1, n // 2 + 1)))
    return sum(not w for w in wins[1:])


def com_029() -> object:
    """Compute Grundy values of rows of petals and solve the ring of petals."""

    @cache
    def row(n: int) -> int:
        reached = {row(left) ^ row(n - t - left) for t in (1, 2) for left in range(n - t + 1)}
        return next(g for g in range(n + 2) if g not in reached)

    def second_wins(n: int) -> bool:
        return all(row(n - t) != 0 for t in (1, 2) if t <= n)

    return sum(second_wins(n) for n in range(1, 21))


def com_030() -> object:
    """Explore all blackboards that can arise."""
    boards = {(3, 4, 5, 6, 7, 8)}
    for _ in range(5):
        following = set()
        for board in boards:
            for i, j in combinations(range(len(board)), 2):
                a, b = board[i], board[j]
                rest = [x for k, x in enumerate(board) if k not in (i, j)]
                following.add(tuple(sorted([*rest, a * b - 2 * a - 2 * b + 6])))
        boards = following
    ((answer,),) = boards
    return answer


def com_031() -> object:
    """Compute Grundy values of the breaking game."""

    @cache
    def grundy(rows: int, cols: int) -> int:
        if rows > cols:
            return grundy(cols, rows)
        reached = {grundy(k, cols) ^ grundy(rows - k, cols) for k in range(1, rows)}
        reached |= {grundy(rows, k) ^ grundy(rows, cols - k) for k in range(1, cols)}
        return next(g for g in range(rows * cols + 1) if g not in reached)

    return sum(grundy(5, n) != 0 for n in range(1, 26))


def com_032() -> object:
    """Count the exact covers of the path by the three kinds of slab."""
    masks = [
        m
        for h, w in ((1, 2), (2, 1), (2, 2))
        for m in _placements(product(range(h), range(w)), 2, 9)
    ]
    return _count_exact_covers(masks, 18)


def com_033() -> object:
    """Try every cell for the small tile and search for a covering."""
    masks = [m for h, w in ((1, 3), (3, 1)) for m in _placements(product(range(h), range(w)), 7, 7)]
    return sum(_count_exact_covers(masks, 49, 1 << cell) > 0 for cell in range(49))


def com_034() -> object:
    """Search for the best packing of straight ships."""
    masks = [m for h, w in ((1, 4), (4, 1)) for m in _placements(product(range(h), range(w)), 6, 6)]
    return _max_packing(masks, 36)


def com_035() -> object:
    """Enumerate the tilings of the strip and count their dominoes."""

    def tilings(n: int) -> Iterator[tuple[int, ...]]:
        if n == 0:
            yield ()
        for part in (1, 2):
            if part <= n:
                for rest in tilings(n - part):
                    yield (part, *rest)

    return sum(t.count(2) for t in tilings(10))


def com_036() -> object:
    """Search for the best packing of T-shaped stickers."""
    shape = [(0, -1), (0, 0), (0, 1), (1, 0)]
    masks: list[int] = []
    for _ in range(4):
        shape = [(c, -r) for r, c in shape]
        masks += _placements(shape, 6, 6)
    return 36 - 4 * _max_packing(masks, 36)


def com_037() -> object:
    """Enumerate four dice."""
    rolls = list(product(range(6), repeat=4))
    return Fraction(sum(len(set(r)) < 4 for r in rolls), len(rolls))


def com_038() -> object:
    """Average the number of different faces in four rolls."""
    rolls = list(product(range(6), repeat=4))
    return Fraction(sum(len(set(r)) for r in rolls), len(rolls))


def com_039() -> object:
    """Enumerate the totals of four dice."""
    rolls = list(product(range(1, 7), repeat=4))
    return Fraction(sum(sum(r) == 13 for r in rolls), len(rolls))


def com_040() -> object:
    """Try every pair of keeping rules for the first two rolls."""
    faces = range(1, 7)
    rules = [[f for f in faces if mask >> f & 1] for mask in range(0, 128, 2)]
    best = Fraction(0)
    for first, second in product(rules, repeat=2):
        third_mean = Fraction(sum(faces), 6)
        second_mean = (sum(second) + (6 - len(second)) * third_mean) / 6
        best = max(best, (sum(first) + (6 - len(first)) * second_mean) / 6)
    return best


def com_041() -> object:
    """Optimise the stopping rule over histories, scoring whole packs."""
    packs = [tuple(1 if i in reds else -1 for i in range(6)) for reds in combinations(range(6), 3)]

    def value(history: tuple[int, ...], possible: list[tuple[int, ...]]) -> Fraction:
        stop = Fraction(sum(history))
        depth = len(history)
        if depth == 6:
            return stop
        go = Fraction(0)
        for card in (1, -1):
            branch = [p for p in possible if p[depth] == card]
            if branch:
                weight = Fraction(len(branch), len(possible))
                go += weight * value((*history, card), branch)
        return max(stop, go)

    return value((), packs)


def com_042() -> object:
    """Multiply the survival chances counted from the spinner outcomes."""
    return prod(
        Fraction(sum((a, b) != (1, 1) for a in range(1, k + 1) for b in range(1, k + 1)), k * k)
        for k in range(2, 21)
    )


def com_043() -> object:
    """Enumerate the rook placements on the board with removed cells."""
    return sum(all((p[i] - i) % 5 not in (0, 1) for i in range(5)) for p in permutations(range(5)))


def com_044() -> object:
    """Maximise the occupied cells with a bipartite matching of beetles to cells."""
    n = 11
    adjacency = [
        [
            (r + dr) * n + c + dc
            for dr in (-1, 1)
            for dc in (-1, 1)
            if 0 <= r + dr < n and 0 <= c + dc < n
        ]
        for r in range(n)
        for c in range(n)
    ]
    return n * n - _max_matching(adjacency, n * n)


def com_045() -> object:
    """Place kings row by row (seven bits a row, nine rows)."""
    rows = [m for m in range(1 << 7) if not m & m << 1]
    best = {0: 0}
    for _ in range(9):
        best = {
            m: m.bit_count() + max(v for k, v in best.items() if not k & (m | m << 1 | m >> 1))
            for m in rows
        }
    return max(best.values())


def com_046() -> object:
    """Test every pair of cells for a knight's jump."""
    cells = list(product(range(7), range(9)))
    return sum({abs(a - c), abs(b - d)} == {1, 2} for (a, b), (c, d) in combinations(cells, 2))


def com_047() -> object:
    """Find the last cells of all complete snail walks depth first."""
    ends: set[int] = set()
    near = [
        [
            (r + dr) * 5 + c + dc
            for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))
            if 0 <= r + dr < 5 and 0 <= c + dc < 5
        ]
        for r in range(5)
        for c in range(5)
    ]

    def creep(cell: int, seen: int, left: int) -> None:
        if left == 0:
            ends.add(cell)
            return
        for v in near[cell]:
            if not seen >> v & 1:
                creep(v, seen | 1 << v, left - 1)

    creep(0, 1, 24)
    return len(ends)


def com_048() -> object:
    """Collect the patterns produced by all switch settings."""
    patterns = set()
    for rows in product((0, 1), repeat=4):
        for cols in product((0, 1), repeat=5):
            patterns.add(tuple(r ^ c for r in rows for c in cols))
    return len(patterns)


def com_049() -> object:
    """Enumerate the binary words of length nine."""
    return sum("".join(w).count("01") == 3 for w in product("01", repeat=9))


def com_050() -> object:
    """Enumerate the sequences of eight tosses."""
    words = ("".join(w) for w in product("HT", repeat=8))
    return sum("HHH" in w or "TTT" in w for w in words)


def com_051() -> object:
    """Average the number of blocks over all bit strings of length twelve."""
    total = 0
    for w in product("01", repeat=12):
        text = "".join(w)
        total += len(text.replace("01", "0 1").replace("10", "1 0").split())
    return Fraction(total, 2**12)


def com_052() -> object:
    """Find the largest set without a one-digit difference (bipartite graph, matching)."""
    even = [w for w in range(64) if w.bit_count() % 2 == 0]
    matching = _max_matching([[w ^ 1 << i for i in range(6)] for w in even], 64)
    return 64 - matching + 1
