"""Independent answer checks for the sample calculus problems, one function a problem."""

import mpmath as mp
import sympy as sp

mp.mp.dps = 30


def cal_001() -> object:
    """Evaluate the quotient at a tiny argument with many digits."""
    with mp.workdps(80):
        x = mp.mpf(10) ** -8
        return +((x * mp.cos(x) - mp.sin(x) + x**3 / 3) / x**5)


def cal_002() -> object:
    """Evaluate the logarithm of the term for an enormous index."""
    with mp.workdps(60):
        n = mp.mpf(10) ** 20
        # log(3^n + n^2 5^n) = n log 5 + 2 log n + log(1 + (3/5)^n / n^2)
        rest = mp.log1p(mp.exp(n * mp.log(mp.mpf(3) / 5) - 2 * mp.log(n)))
        return +mp.exp((n * mp.log(5) + 2 * mp.log(n) + rest) / n)


def cal_003() -> object:
    """Evaluate the expression for a very large n with enough digits."""
    with mp.workdps(80):
        n = mp.mpf(10) ** 14
        return +(n**2 * (mp.power(2, 1 / n) - mp.power(2, 1 / (n + 5))))


def cal_004() -> object:
    """Evaluate with a thousand digits at several n and extrapolate in 1/n (Neville)."""
    with mp.workdps(1000):
        ns = list(range(80, 401, 40))
        xs = [mp.mpf(1) / n for n in ns]
        vals = [n * mp.tan(mp.pi * mp.e * mp.factorial(n)) for n in ns]
        for step in range(1, len(ns)):
            vals = [
                (xs[i + step] * vals[i] - xs[i] * vals[i + 1]) / (xs[i + step] - xs[i])
                for i in range(len(vals) - 1)
            ]
    return +vals[0]


def cal_005() -> object:
    """Evaluate through log-gamma at a very large n."""
    with mp.workdps(60):
        n = mp.mpf(10) ** 15
        return +(mp.exp((mp.loggamma(2 * n + 1) - mp.loggamma(n + 1)) / n) / n)


def cal_006() -> object:
    """Partial products at growing n, extrapolated in 1/n."""
    vals, xs, product = [], [], mp.mpf(1)
    for k in range(1, 641):
        product *= 1 + mp.mpf(2) / (k * (k + 3))
        if k % 80 == 0:
            vals.append(product)
            xs.append(mp.mpf(1) / k)
    for step in range(1, len(xs)):
        vals = [
            (xs[i + step] * vals[i] - xs[i] * vals[i + 1]) / (xs[i + step] - xs[i])
            for i in range(len(vals) - 1)
        ]
    return vals[0]


def cal_007() -> object:
    """Differentiate nine times symbolically."""
    x = sp.Symbol("x")
    return sp.diff(x**2 * sp.log(1 + x), x, 9).subs(x, 0)


def cal_008() -> object:
    """Differentiate ten times symbolically."""
    x = sp.Symbol("x")
    return sp.diff(x * sp.exp(2 * x), x, 10).subs(x, 0)


def cal_009() -> object:
    """Differentiate nine times symbolically."""
    x = sp.Symbol("x")
    return sp.simplify(sp.diff(sp.exp(sp.sqrt(3) * x) * sp.sin(x), x, 9).subs(x, 0))


def cal_010() -> object:
    """Count sign changes exactly with Sturm's method in sympy."""
    x = sp.Symbol("x")
    p = sp.Poly(sp.diff(x * (x**2 - 1) * (x**2 - 4) * (x**2 - 9), x, 3), x)
    return p.count_roots()


def cal_011() -> object:
    """Differentiate the nine summands one by one, exactly."""
    x = sp.Symbol("x")
    return sum(sp.diff(sp.atan(x / (1 + k * (k + 1) * x**2)), x).subs(x, 1) for k in range(1, 10))


def cal_012() -> object:
    """Critical point of the function by Newton's method, then its value."""

    def value(x: object, y: object) -> object:
        return x * y + 8 / x + 27 / y

    x, y = mp.findroot(lambda x, y: [y - 8 / x**2, x - 27 / y**2], (1.2, 5))
    return value(x, y)


def cal_013() -> object:
    """Solve for the stationary point exactly and evaluate there."""
    x, y = sp.symbols("x y")
    f = x**2 + 2 * x * y + 3 * y**2 - 6 * x - 2 * y
    return f.subs(sp.solve([sp.diff(f, x), sp.diff(f, y)], [x, y]))


def cal_014() -> object:
    """Numeric zero of the derivative."""

    def f(x: object) -> object:
        return mp.sqrt(x**2 + 4) + mp.sqrt((x - 12) ** 2 + 9)

    return f(mp.findroot(lambda x: mp.diff(f, x), 4))


def cal_015() -> object:
    """Line through the inner corner (8, 27) with intercepts (a, 0), (0, b): minimise its length."""

    def length(a: object) -> object:
        b = 27 * a / (a - 8)
        return mp.hypot(a, b)

    return length(mp.findroot(lambda a: mp.diff(length, a), 25))


def cal_016() -> object:
    """Solve the extreme case f'' = 6 as a differential equation."""
    x = sp.Symbol("x")
    f = sp.Function("f")
    sol = sp.dsolve(f(x).diff(x, 2) - 6, ics={f(0): 1, f(x).diff(x).subs(x, 0): 2})
    return sol.rhs.subs(x, 3)


def cal_017() -> object:
    """Numeric quadrature."""
    return mp.quad(lambda x: x**4 / (1 + mp.power(3, x)), [-2, 0, 2])


def cal_018() -> object:
    """Numeric quadrature."""
    return mp.quad(lambda x: mp.atan(x) / x, [mp.mpf(1) / 3, 1, 3])


def cal_019() -> object:
    """Numeric quadrature."""
    return mp.quad(lambda x: x**2 * mp.log(x) ** 2, [1, 2, mp.e])


def cal_020() -> object:
    """Numeric quadrature, split at the corner of |x|."""
    return mp.quad(lambda x: (x**7 * mp.cos(x) + abs(x)) * mp.sqrt(9 - x**2), [-3, 0, 3])


def cal_021() -> object:
    """Numeric quadrature."""
    return mp.quad(lambda x: 1 / (x**2 + 2 * x + 5), [-1, 1])


def cal_022() -> object:
    """Numeric quadrature."""
    return mp.quad(lambda x: mp.tan(x) ** 6, [0, mp.pi / 4])


def cal_023() -> object:
    """Numeric quadrature."""
    return mp.quad(lambda x: (x**5 - x**2) / mp.log(x), [0, 0.5, 1])


def cal_024() -> object:
    """Numeric quadrature on the half-line."""
    return mp.quad(lambda x: (mp.atan(5 * x) - mp.atan(2 * x)) / x, [0, 1, mp.inf])


def cal_025() -> object:
    """Numeric quadrature after the change of variable x = 1/t."""
    return mp.quad(lambda t: mp.log(t) ** 2 * t**2, [0, 0.5, 1])


def cal_026() -> object:
    """Numeric quadrature on the half-line."""
    return mp.quad(lambda x: mp.log(x) / (x**2 + 9), [0, 1, 3, 9, mp.inf])


def cal_027() -> object:
    """Numeric quadrature on the half-line."""
    return mp.quad(lambda x: (1 + x**2) ** -5, [0, 1, mp.inf])


def cal_028() -> object:
    """Numeric quadrature on the real line."""
    return mp.quad(lambda x: x**2 * mp.exp(6 * x - x**2 - 9), [-mp.inf, 0, 3, 6, mp.inf])


def cal_029() -> object:
    """Numeric quadrature on the half-line."""
    return mp.quad(
        lambda x: mp.exp(-x) * 2 * mp.sin(x) ** 2 / x, [0, 1, 2, 4, 8, 16, 32, 64, mp.inf]
    )


def cal_030() -> object:
    """Numeric summation with extrapolation."""
    return mp.nsum(lambda n: n / (n**4 + 4), [1, mp.inf])


def cal_031() -> object:
    """Add eighty terms of the alternating series."""
    return mp.fsum((-1) ** n / ((2 * n + 1) * mp.mpf(3) ** n) for n in range(80))


def cal_032() -> object:
    """Add the series directly."""
    total, f, g = mp.mpf(0), 1, 1
    for n in range(1, 160):
        total += f / mp.mpf(3) ** n
        f, g = g, f + g
    return total


def cal_033() -> object:
    """Add eighty terms of the real series."""
    return mp.fsum(mp.cos(n * mp.pi / 3) / mp.mpf(3) ** n for n in range(80))


def cal_034() -> object:
    """Evaluate the tail as a Hurwitz zeta value."""
    return int(mp.floor(1 / mp.zeta(2, 2026)))


def cal_035() -> object:
    """Add zeta values numerically."""
    return mp.fsum(mp.zeta(2 * k) - 1 for k in range(1, 50))


def cal_036() -> object:
    """Express the solution by Airy functions and differentiate numerically."""
    ai, bi = mp.airyai(0), mp.airybi(0)
    dai, dbi = mp.airyai(0, derivative=1), mp.airybi(0, derivative=1)
    det = ai * dbi - bi * dai

    def y(x: object) -> object:
        return (dbi * mp.airyai(x) - dai * mp.airybi(x)) / det

    return mp.taylor(y, 0, 6)[6] * 720


def cal_037() -> object:
    """Power series of the solution from the equation itself, then a numeric zero."""
    a = [mp.mpf(1), mp.mpf(2)]
    for n in range(80):
        a.append((2 * (n + 1) * a[n + 1] - 4 * a[n]) / ((n + 2) * (n + 1)))

    def y(x: object) -> object:
        return mp.polyval(a[::-1], x)

    assert all(y(mp.mpf(k) / 10) > 0 for k in range(12))
    return mp.findroot(y, (1.1, 1.3), solver="anderson")


def cal_038() -> object:
    """Power series around the centre pi/6, where the equation reads g'(u) = g(-u)."""
    g = [mp.mpf(1)]
    for k in range(60):
        g.append((-1) ** k * g[k] / (k + 1))
    series = g[::-1]
    return mp.polyval(series, mp.pi / 3) / mp.polyval(series, -mp.pi / 6)


def cal_039() -> object:
    """Integrate the motion with the classical Runge-Kutta method and record the top speed."""
    x, v, h, top = 2.0, 0.0, 0.001, 0.0

    def slope(p: float, q: float) -> tuple[float, float]:
        return q, -(p**3)

    for _ in range(2500):
        a1, b1 = slope(x, v)
        a2, b2 = slope(x + h * a1 / 2, v + h * b1 / 2)
        a3, b3 = slope(x + h * a2 / 2, v + h * b2 / 2)
        a4, b4 = slope(x + h * a3, v + h * b3)
        x += h * (a1 + 2 * a2 + 2 * a3 + a4) / 6
        v += h * (b1 + 2 * b2 + 2 * b3 + b4) / 6
        top = max(top, abs(v))
    return top


def cal_040() -> object:
    """Picard iteration on polynomial coefficients, then evaluation at log 3."""
    coeffs = [mp.mpf(1)]
    for _ in range(25):
        nxt = [mp.mpf(1), mp.mpf(0)]
        # the integral of (x - t) t^n over [0, x] equals x^(n+2) (1/(n+1) - 1/(n+2))
        nxt += [c * (mp.mpf(1) / (n + 1) - mp.mpf(1) / (n + 2)) for n, c in enumerate(coeffs)]
        coeffs = nxt
    return mp.polyval(coeffs[::-1], mp.log(3))


def cal_041() -> object:
    """Blow-up time as the integral of dy / y' from 3 to infinity."""
    return mp.quad(lambda y: 1 / (y * y - 4 * y + 5), [3, 10, mp.inf])


def cal_042() -> object:
    """Iterate the recurrence with exact fractions."""
    a = sp.Integer(8)
    for _ in range(4):
        a = (2 * a + 6) / (a + 1)
    return a


def cal_043() -> object:
    """Iterate the recurrence numerically and take the floor."""
    x = mp.mpf(1)
    for _ in range(799):
        x += 1 / x
    return int(mp.floor(x))


def cal_044() -> object:
    """Closed sum through the digamma function at an enormous n."""
    with mp.workdps(90):
        n = mp.mpf(10) ** 12
        q = n * n
        return +(n - q * (mp.digamma(q + n + 1) - mp.digamma(q + 1)))


def cal_045() -> object:
    """Iterate the recurrence and extrapolate the terms in 1/n."""
    a, xs, vals = mp.mpf(2), [], []
    for n in range(1, 400):
        a = mp.sqrt(a * a + mp.mpf(2 * n + 1) / (n * (n + 1)) ** 2)
        if (n + 1) % 50 == 0:
            xs.append(mp.mpf(1) / (n + 1))
            vals.append(a)
    for step in range(1, len(xs)):
        vals = [
            (xs[i + step] * vals[i] - xs[i] * vals[i + 1]) / (xs[i + step] - xs[i])
            for i in range(len(vals) - 1)
        ]
    return vals[0]


def cal_046() -> object:
    """Iterate the recurrence with many digits."""
    with mp.workdps(60):
        u, w = mp.mpf(1), mp.mpf(2)
        for _ in range(100):
            u, w = w, mp.sqrt(3) * w - u
    return +u


def cal_047() -> object:
    """Build the sequence from its convolution and add the series."""
    c = [1]
    for n in range(240):
        c.append(sum(c[k] * c[n - k] for k in range(n + 1)))
    return mp.fsum(v * (mp.mpf(3) / 16) ** n for n, v in enumerate(c))


def cal_048() -> object:
    """Iterate the nested roots with many digits."""
    with mp.workdps(120):
        b = mp.sqrt(2)
        for _ in range(79):
            b = mp.sqrt(2 + b)
        return +(mp.mpf(4) ** 80 * (2 - b))
