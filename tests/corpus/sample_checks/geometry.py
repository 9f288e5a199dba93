"""Independent answer checks for the sample geometry problems, one function a problem."""

from itertools import permutations, product
from random import Random

import mpmath as mp
import sympy as sp

mp.mp.dps = 30


def _triangle(a: object, b: object, c: object) -> tuple[mp.mpc, mp.mpc, mp.mpc]:
    """Complex vertices A, B, C of the triangle with sides a, b, c; B = 0 and C = a."""
    a, b, c = mp.mpf(a), mp.mpf(b), mp.mpf(c)
    x = (a * a + c * c - b * b) / (2 * a)
    return mp.mpc(x, mp.sqrt(c * c - x * x)), mp.mpc(0), mp.mpc(a)


def _angle(p: object, q: object, r: object) -> mp.mpf:
    """Unsigned angle PQR in radians, for complex points."""
    return abs(mp.arg((p - q) / (r - q)))


def _meet(p: object, q: object, r: object, s: object) -> mp.mpc:
    """Intersection of the lines PQ and RS, for complex points."""
    u, v, w = q - p, s - r, r - p
    t = mp.im(mp.conj(v) * w) / mp.im(mp.conj(v) * u)
    return p + t * u


def _shoelace(points: list) -> object:
    """Unsigned area of a polygon given by exact coordinate pairs."""
    total = sum(
        p[0] * q[1] - q[0] * p[1] for p, q in zip(points, points[1:] + points[:1], strict=True)
    )
    return sp.Abs(sp.nsimplify(total)) / 2


def geo_001() -> object:
    """Find D on AC by solving the angle condition numerically, then measure BD."""
    a, b, c = _triangle(20, 18, 12)
    t = mp.findroot(lambda s: _angle(a, b, a + s * (c - a)) - _angle(a, c, b), 0.4)
    return abs(a + t * (c - a) - b)


def geo_002() -> object:
    """Place A at the origin with exact coordinates and measure AD."""
    b = sp.Point(5, 0)
    c = sp.Point(4, 4 * sp.sqrt(3))
    return sp.Point(0, 0).distance(b + (c - b) * sp.Rational(3, 7))


def geo_003() -> object:
    """Build the zig-zag for a trial apex angle and solve AB = AC numerically."""

    def gap(t: object) -> object:
        ad = 2 * mp.cos(t)
        dx, dy = ad * mp.cos(t), ad * mp.sin(t)
        ac = dx + mp.sqrt(1 - dy * dy)
        ab = 2 * ac * mp.cos(t) - ad
        return ab - ac

    return mp.findroot(gap, 0.45) * 180 / mp.pi


def geo_004() -> object:
    """Minimise the perimeter directly for one position of P by solving for a zero gradient."""
    p = 9 * mp.expjpi(mp.mpf(1) / 9)
    ray = mp.expjpi(mp.mpf(1) / 4)

    def perimeter(q: object, r: object) -> object:
        return abs(p - q) + abs(q - r * ray) + abs(r * ray - p)

    q, r = mp.findroot(
        lambda x, y: [
            mp.diff(perimeter, (x, y), (1, 0)),
            mp.diff(perimeter, (x, y), (0, 1)),
        ],
        (6.5, 6.5),
        tol=1e-14,
    )
    return perimeter(q, r)


def geo_005() -> object:
    """Intersect the two cevians in exact coordinates of a sample triangle."""
    a, b, c = sp.Point(1, 7), sp.Point(0, 0), sp.Point(10, 0)
    d, e = sp.Point(4, 0), c + (a - c) / 5
    p = sp.Line(a, d).intersection(sp.Line(b, e))[0]
    return a.distance(p) / p.distance(d)


def geo_006() -> object:
    """Add the inradii, each computed as area divided by half the perimeter."""
    total = mp.mpf(0)
    for n in range(1, 25):
        leg = mp.sqrt(n)
        total += (leg / 2) / ((1 + leg + mp.hypot(1, leg)) / 2)
    return total


def geo_007() -> object:
    """Rotate a chord through P until the ratio of its pieces is 3 and measure it."""

    def pieces(t: object) -> tuple:
        mid = -7 * mp.cos(t)
        half = mp.sqrt(169 - (7 * mp.sin(t)) ** 2)
        return half + mid, half - mid

    angle = mp.findroot(lambda t: pieces(t)[1] - 3 * pieces(t)[0], 0.4)
    return sum(pieces(angle))


def geo_008() -> object:
    """Exact coordinates with the centre of the circle at the origin."""
    u = sp.Symbol("u")
    a = sp.Point(-10, 0)
    cx = sp.solve(sp.expand((u + 10) ** 2 + (100 - u**2) - 144), u)[0]
    c = sp.Point(cx, sp.sqrt(100 - cx**2))
    d = sp.Line(a, c).intersection(sp.Line(sp.Point(10, 0), sp.Point(10, 1)))[0]
    return d.distance(sp.Point(10, 0))


def geo_009() -> object:
    """Intersect the two lines with both circles (T at the origin) and use the shoelace formula."""
    u = sp.Point(sp.Rational(2, 3), sp.sqrt(5) / 3)
    v = sp.Point(sp.sqrt(5) / 3, -sp.Rational(2, 3))
    centres = (sp.Point(3, 0), sp.Point(-5, 0))

    def second(centre: sp.Point, w: sp.Point) -> sp.Point:
        return w * (2 * centre.dot(w))

    a, b = (second(o, u) for o in centres)
    c, d = (second(o, v) for o in centres)
    assert sp.simplify(a.distance(sp.Point(0, 0)) - 4) == 0
    pairs = [(p.x, p.y) for p in (a, c, b, d)]
    return sp.simplify(_shoelace(pairs))


def geo_010() -> object:
    """Intersect the two circles exactly with sympy."""
    one = sp.Circle(sp.Point(0, 0), 5)
    two = sp.Circle(sp.Point(8, 0), 7)
    a, b = one.intersection(two)
    return a.distance(b)


def geo_011() -> object:
    """Draw ten concrete circles, count vertices and arcs, and apply Euler's formula."""
    centres = [
        mp.mpf("0.3") * mp.expjpi(mp.mpf(k * k) / 37 + k) * (1 + mp.mpf(k) / 11)
        for k in range(1, 11)
    ]
    points, arcs = [], 0
    for i, p in enumerate(centres):
        here = []
        for j, q in enumerate(centres):
            if i != j:
                d = abs(q - p)
                for sign in (1, -1):
                    here.append((p + q) / 2 + sign * mp.sqrt(1 - d * d / 4) * 1j * (q - p) / d)
        arcs += len(here)
        points += [z for z in here if all(abs(z - w) > mp.mpf(10) ** -9 for w in points)]
    return arcs - len(points) + 2


def geo_012() -> object:
    """Place A, E, F for a trial angle and solve for concyclicity of A, B, C, D."""
    deg = mp.pi / 180

    def defect(t: object) -> object:
        a, e, f = mp.mpc(0), mp.mpc(1), mp.mpf("1.1") * mp.expj(t)
        toward_d = e + mp.expj(mp.pi - 28 * deg)
        toward_b = f + mp.expj(t + mp.pi + 46 * deg)
        d = _meet(e, toward_d, a, f)
        b = _meet(f, toward_b, a, e)
        c = _meet(e, d, f, b)
        return mp.im((a - b) * (c - d) / ((a - d) * (c - b)))

    return mp.findroot(defect, 50 * deg) / deg


def geo_013() -> object:
    """Find the circumradius from the four central angles, then add the central triangles."""
    sides = (3, 5, 5, 8)
    radius = mp.findroot(lambda r: 2 * sum(mp.asin(s / (2 * r)) for s in sides) - 2 * mp.pi, 4.5)
    return sum(radius**2 * mp.sin(2 * mp.asin(s / (2 * radius))) / 2 for s in sides)


def geo_014() -> object:
    """Place E, B, C, A exactly; find D on ray EC by concyclicity; add the four sides."""
    t = sp.Symbol("t", positive=True)
    cos_e = sp.Rational(16 + 9 - 4, 24)
    unit = sp.Point(cos_e, sp.sqrt(1 - cos_e**2))
    a, b, c = sp.Point(12, 0), sp.Point(4, 0), unit * 3
    h, k = sp.symbols("h k")
    eqs = [(p.x - h) ** 2 + (p.y - k) ** 2 - (a.x - h) ** 2 - (a.y - k) ** 2 for p in (b, c)]
    sol = sp.solve([sp.expand(e) for e in eqs], [h, k])
    r2 = (a.x - sol[h]) ** 2 + (a.y - sol[k]) ** 2
    roots = sp.solve(sp.expand((t * unit.x - sol[h]) ** 2 + (t * unit.y - sol[k]) ** 2 - r2), t)
    d = unit * next(r for r in roots if sp.simplify(r - 3) != 0)
    return sum(sp.simplify(p.distance(q)) for p, q in ((a, b), (b, c), (c, d), (d, a)))


def geo_015() -> object:
    """Shoelace area of the four exact vertices on the circle x^2 + y^2 = 625."""
    top = sp.sqrt(625 - 49)
    low = -sp.sqrt(625 - 576)
    return _shoelace([(-7, top), (7, top), (24, low), (-24, low)])


def geo_016() -> object:
    """Area ratio on one inscribed quadrilateral, by circumcentres of medial triangles."""
    pts = [sp.Point(5, 0), sp.Point(3, 4), sp.Point(-4, 3), sp.Point(0, -5)]
    marked = []
    for skip in range(4):
        p, q, r = (pts[i] for i in range(4) if i != skip)
        mids = (p.midpoint(q), q.midpoint(r), r.midpoint(p))
        marked.append(sp.Triangle(*mids).circumcenter)
    ratio = sp.Abs(sp.Polygon(*marked).area) / sp.Abs(sp.Polygon(*pts).area)
    return 52 * ratio


def geo_017() -> object:
    """Exact coordinates in a triangle with base 13 and height 8."""
    a, b, c = sp.Point(2, 8), sp.Point(0, 0), sp.Point(13, 0)
    d, e, f = b + (c - b) / 4, c + (a - c) / 4, a + (b - a) / 4
    lines = [sp.Line(a, d), sp.Line(b, e), sp.Line(c, f)]
    pts = [lines[i].intersection(lines[(i + 1) % 3])[0] for i in range(3)]
    return _shoelace([(p.x, p.y) for p in pts])


def geo_018() -> object:
    """Shoelace area in a slanted parallelogram with base 8 and height 6."""
    a, b, c, d = sp.Point(0, 0), sp.Point(8, 0), sp.Point(11, 6), sp.Point(3, 6)
    m, n = b.midpoint(c), c + (d - c) / 4
    return _shoelace([(p.x, p.y) for p in (a, m, n)])


def geo_019() -> object:
    """Compute the area ratio in one exact trapezoid and rescale it."""
    a, b, c, d = sp.Point(0, 0), sp.Point(10, 0), sp.Point(7, 4), sp.Point(1, 4)
    x = sp.Line(a, c).intersection(sp.Line(b, d))[0]
    small = _shoelace([(p.x, p.y) for p in (x, c, d)])
    return 27 * _shoelace([(p.x, p.y) for p in (a, b, c, d)]) / small


def geo_020() -> object:
    """Maximise the product over the triangle by finding the interior critical point."""
    x, y = sp.symbols("x y", positive=True)
    value = x * y * (48 - 6 * x - 8 * y) / 10
    sols = sp.solve([sp.diff(value, x), sp.diff(value, y)], [x, y], dict=True)
    return max(value.subs(s) for s in sols)


def geo_021() -> object:
    """Measure the area ratio on a concrete quadrilateral with a concrete interior point."""
    pts = [sp.Point(0, 0), sp.Point(9, 1), sp.Point(10, 8), sp.Point(2, 6)]
    p = sp.Point(4, 3)
    cents = [(p + pts[i] + pts[(i + 1) % 4]) / 3 for i in range(4)]
    whole = _shoelace([(q.x, q.y) for q in pts])
    return 81 * _shoelace([(q.x, q.y) for q in cents]) / whole


def geo_022() -> object:
    """Integrate the cross-section, proportional to the square of the distance from the apex."""
    h = sp.Symbol("h")
    whole = sp.integrate(h**2, (h, 0, 3))
    slab = sp.integrate(h**2, (h, 1, 2))
    return 42 * whole / slab


def geo_023() -> object:
    """Distance as volume over base area, both from determinants and cross products."""
    m, n, c = sp.Matrix([6, 0, 3]), sp.Matrix([0, 6, 2]), sp.Matrix([6, 6, 6])
    return sp.Abs(sp.Matrix.hstack(m, n, c).det()) / m.cross(n).norm()


def geo_024() -> object:
    """Distance from the centre to a face plane of the octahedron with vertices on the axes."""
    k = 3 * sp.sqrt(2)
    p, q, r = (sp.Point3D(*v) for v in ((k, 0, 0), (0, k, 0), (0, 0, k)))
    assert p.distance(q) == 6
    return sp.Plane(p, q, r).distance(sp.Point3D(0, 0, 0))


def geo_025() -> object:
    """Minimise the three-leg route numerically over both touching points."""

    def route(y1: object, z1: object, x2: object, y2: object) -> object:
        legs = ((1, y1 - 1, z1 - 4), (x2, y2 - y1, z1), (2 - x2, 3 - y2, 2))
        return sum(mp.sqrt(a * a + b * b + c * c) for a, b, c in legs)

    def gradient(*v: object) -> list:
        return [mp.diff(route, v, tuple(int(i == j) for j in range(4))) for i in range(4)]

    best = mp.findroot(gradient, (1.5, 2.2, 0.8, 2.2), tol=1e-14)
    return route(*best)


def geo_026() -> object:
    """Count vertices and edges of the great rhombicuboctahedron from coordinates; then Euler."""
    r = mp.sqrt(2)
    base = (mp.mpf(1), 1 + r, 1 + 2 * r)
    verts = [
        tuple(s * c for s, c in zip(signs, perm, strict=True))
        for perm in permutations(base)
        for signs in product((1, -1), repeat=3)
    ]
    edges = sum(
        abs(sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) - 4) < 1e-12
        for i, p in enumerate(verts)
        for q in verts[:i]
    )
    return 2 - len(verts) + edges


def geo_027() -> object:
    """Maximise the volume by a zero of its derivative, numerically."""

    def volume(r: object) -> object:
        return mp.pi * r**2 * (9 - 9 * r / 6)

    return volume(mp.findroot(lambda r: mp.diff(volume, r), 3.5))


def geo_028() -> object:
    """Lagrange conditions solved exactly; take the largest critical value."""
    x, y, k = sp.symbols("x y k")
    g = x**2 + y**2 - 8 * x + 6 * y + 9
    sols = sp.solve([2 * x - k * (2 * x - 8), 2 * y - k * (2 * y + 6), g], [x, y, k], dict=True)
    return max((sp.simplify((x**2 + y**2).subs(s)) for s in sols), key=sp.N)


def geo_029() -> object:
    """Minimise the sum of distances over the line with a numeric derivative."""

    def total(t: object) -> object:
        return mp.hypot(t - 1, t - 4) + mp.hypot(t - 9, t - 13)

    return total(mp.findroot(lambda t: mp.diff(total, t), 5))


def geo_030() -> object:
    """Solve for Q: the midpoint of PQ lies on the line and PQ is perpendicular to it."""
    a, b, c, t = sp.symbols("a b c t")
    eqs = [
        (a + 4) / 2 - 1 - 2 * t,
        (b + 6) / 2 - 2 - t,
        (c + 4) / 2 - 2 * t,
        2 * (a - 4) + (b - 6) + 2 * (c - 4),
    ]
    sol = sp.solve(eqs, [a, b, c, t])
    return (sol[a], sol[b], sol[c])


def geo_031() -> object:
    """The region is a lattice polygon: count lattice points and apply Pick's theorem."""
    values = [abs(x) + abs(y) + abs(x + y) for x in range(-7, 8) for y in range(-7, 8)]
    inner = sum(v < 6 for v in values)
    border = sum(v == 6 for v in values)
    return inner + sp.Rational(border, 2) - 1


def geo_032() -> object:
    """Breadth-first search in a bounded box, collecting the visited diagonal points."""
    seen, queue = {(84, 132)}, [(84, 132)]
    while queue:
        x, y = queue.pop()
        for p in ((x + y, y), (x, x + y), (x - y, y), (x, y - x)):
            if min(p) > 0 and max(p) <= 300 and p not in seen:
                seen.add(p)
                queue.append(p)
    diagonal = {x for x, y in seen if x == y}
    assert len(diagonal) == 1
    return diagonal.pop()


def geo_033() -> object:
    """Solve for both circles through A and B touching the x-axis, with AB at 60 degrees."""
    h, k = sp.symbols("h k", real=True)
    a = (2, 2 * sp.sqrt(3))
    b = (sp.Rational(9, 2), 9 * sp.sqrt(3) / 2)
    sols = sp.solve([sp.expand((p[0] - h) ** 2 + (p[1] - k) ** 2 - k**2) for p in (a, b)], [h, k])
    return sp.Abs(sols[0][0] - sols[1][0])


def geo_034() -> object:
    """Find the common tangent line y = m x + c numerically and intersect it with the axis."""

    def system(m: object, c: object) -> list:
        norm = mp.sqrt(1 + m * m)
        return [c - 4 * norm, 13 * m + c - 9 * norm]

    m, c = mp.findroot(system, (0.4, 4.3))
    return c / m


def geo_035() -> object:
    """Discriminant conditions solved by sympy, then the two touching points."""
    x, m, c = sp.symbols("x m c", real=True)
    parabola = sp.expand((m * x + c) ** 2 - 8 * x)
    circle = sp.expand(x**2 + (m * x + c) ** 2 - 2)
    conds = [sp.discriminant(parabola, x), sp.discriminant(circle, x)]
    sol = next(s for s in sp.solve(conds, [m, c], dict=True) if s[m] > 0)
    pts = []
    for curve in (parabola, circle):
        x0 = sp.solve(curve.subs(sol), x)[0]
        pts.append(sp.Point(x0, sol[m] * x0 + sol[c]))
    return pts[0].distance(pts[1])


def geo_036() -> object:
    """Construct the circles one after another by solving the tangency equations numerically."""
    x_n, r_n = mp.mpf(8), mp.mpf(4)
    for _ in range(6):
        x0, r0 = x_n, r_n

        def system(x: object, r: object, x0: object = x0, r0: object = r0) -> list:
            return [
                mp.hypot(x, r - 4) - (r + 4),
                mp.hypot(x - x0, r - r0) - (r + r0),
            ]

        x_n, r_n = mp.findroot(system, (x0 * 0.6, r0 * 0.4))
    assert 0 < x_n < 2
    return r_n


def geo_037() -> object:
    """Unit circle, one concrete third tangent, intersections computed as lines."""
    deg = mp.pi / 180
    p = 1 / mp.sin(24 * deg)
    touch = mp.acos(1 / p)
    a, b, c = mp.expj(touch), mp.expj(-touch), mp.expj(17 * deg)
    x = _meet(p, a, c, c * (1 + 1j))
    y = _meet(p, b, c, c * (1 + 1j))
    return _angle(x, 0, y) / deg


def geo_038() -> object:
    """Exact circumcentre and orthocentre from sympy's Triangle."""
    t = sp.Triangle(sp.Point(0, 0), sp.Point(14, 0), sp.Point(5, 12))
    return t.circumcenter.distance(t.orthocenter)


def geo_039() -> object:
    """Solve for the angle at A (angle B fixed at 70 degrees) with constructed centres."""
    deg = mp.pi / 180
    b, c = mp.mpc(0), mp.mpc(1)

    def apex(t: object) -> object:
        return mp.sin(mp.pi - t - 70 * deg) / mp.sin(t) * mp.expj(70 * deg)

    def gap(t: object) -> object:
        a = apex(t)
        h = _meet(b, b + 1j * (c - a), c, c + 1j * (b - a))
        o = _meet((a + b) / 2, (a + b) / 2 + 1j * (b - a), (b + c) / 2, (b + c) / 2 + 1j)
        return _angle(b, h, c) - _angle(b, o, c) - 30 * deg

    a = apex(mp.findroot(gap, 55 * deg))
    la, lb, lc = abs(b - c), abs(c - a), abs(a - b)
    i = (la * a + lb * b + lc * c) / (la + lb + lc)
    return _angle(b, i, c) / deg


def geo_040() -> object:
    """Exact incentre and centroid from sympy's Triangle."""
    t = sp.Triangle(sp.Point(0, 0), sp.Point(8, 0), sp.Point(0, 15))
    return sp.sqrt(sp.simplify((t.incenter - t.centroid).dot(t.incenter - t.centroid)))


def geo_041() -> object:
    """Intersect two of the segments in exact coordinates (semiperimeter 24)."""
    a, b, c = sp.Point(6, 8), sp.Point(0, 0), sp.Point(21, 0)
    s = sp.Rational(10 + 17 + 21, 2)
    x = b + (c - b) * (s - 10) / 21
    y = c + (a - c) * (s - 21) / 17
    return sp.Line(a, x).intersection(sp.Line(b, y))[0].y


def geo_042() -> object:
    """Complex positions around F, distances solved numerically."""
    w = mp.expjpi(mp.mpf(2) / 3)
    fb = mp.findroot(lambda t: abs(5 - t * w) - 7, 4)
    fc = mp.findroot(lambda t: abs(5 - t * w**2) - 19, 12)
    return abs(fb * w - fc * w**2)


def geo_043() -> object:
    """Multiply the chord lengths, measured from the coordinates."""
    pts = [(2 * mp.cos(2 * mp.pi * k / 9), 2 * mp.sin(2 * mp.pi * k / 9)) for k in range(9)]
    return mp.fprod(mp.hypot(x - pts[0][0], y - pts[0][1]) for x, y in pts[1:])


def geo_044() -> object:
    """Build one such triangulation by inserting random interior points one at a time."""
    rng = Random(7)
    corner = [(k, k * k) for k in range(-3, 4)]
    cells = [(corner[0], corner[i], corner[i + 1]) for i in range(1, 6)]
    for _ in range(20):
        cell = cells.pop(rng.randrange(len(cells)))
        w = [sp.Rational(rng.randint(1, 97)) for _ in range(3)]
        p = tuple(sum(wi * v[j] for wi, v in zip(w, cell, strict=True)) / sum(w) for j in (0, 1))
        cells += [(cell[0], cell[1], p), (cell[1], cell[2], p), (cell[2], cell[0], p)]
    assert len({v for cell in cells for v in cell}) == 27
    return len(cells)


def geo_045() -> object:
    """Polar integration of the smaller of the two radial functions."""
    apothem = 6 * mp.sin(mp.pi / 3)

    def radius(t: object, turn: object) -> object:
        s = mp.fmod(t - turn + 4 * mp.pi, mp.pi / 3) - mp.pi / 6
        return apothem / mp.cos(s)

    def density(t: object) -> object:
        return min(radius(t, 0), radius(t, mp.pi / 6)) ** 2 / 2

    return mp.quad(density, [mp.pi * k / 12 for k in range(25)])


def geo_046() -> object:
    """Direct sum for one concrete point at distance 5."""
    p = 5 * mp.expj(mp.mpf("0.37"))
    return mp.fsum(abs(p - 3 * mp.expjpi(mp.mpf(k) / 4)) ** 2 for k in range(8))


def geo_047() -> object:
    """Add the six distances for one off-centre point."""
    p = mp.mpc("0.7", "1.1")
    total = mp.mpf(0)
    for k in range(6):
        u, v = 4 * mp.expjpi(mp.mpf(k) / 3), 4 * mp.expjpi(mp.mpf(k + 1) / 3)
        total += abs(mp.im(mp.conj(v - u) * (p - u))) / abs(v - u)
    return total


def geo_048() -> object:
    """Search sums of whole-degree exterior angles: k at least 90, four between 1 and 89."""
    feasible = [
        k
        for k in range(12)
        if any(
            sum_big + sum_small == 360
            for sum_big in range(90 * k, min(179 * k, 360) + 1)
            for sum_small in range(4, 4 * 89 + 1)
        )
    ]
    return 4 + max(feasible)
