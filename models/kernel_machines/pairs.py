"""Descent on pairs of variables along rows of a kernel that are computed when they are needed.

    minimize 1/2 u'Ku - r'u   subject to   1'u = const (or nothing),   lower <= u <= upper,     F = r - Ku

K consists of copies of the samples' kernel matrix: variable k belongs to sample k modulo the number of samples.  A step
u_i += t, u_j -= t takes the i with the largest F among the variables that may rise, and the j that gains most with it
(Fan, Chen and Lin 2005).  Without the row one variable moves at a time.  If there are two rows, one with the leading
and one with the other variables, the pair is taken from the row with the larger gap.  A gain exists while the largest F
of a variable that may rise exceeds the smallest F of one that may fall.

Masks, which are 0 for variables that may rise and -FAR for others, let the loops over all variables be vectorized.  The
loops go tile by tile, and each update of F finds the extremes of its tile for the next step.

A missing row is computed together with rows of other variables with large slopes, as one product with several samples
takes little longer than with one.  Rows are in float32; the exact gradient, computed afterwards, shows their error.
"""

from __future__ import annotations

from socp.compiled.exponential import larger, smaller
from socp.compiled.kernels import inner, kernel, leaf
from socp.compiled.signatures import Floats, Singles
from socp.compiled.structures import Structure, dimension, flag, floats, integer, integers, number, singles

from .mercer import Samples, fill_singles

TILE = 256
FAR = 1e300
LEAST = 1e-6  # lower limit of curvatures, relative to the largest k(x, x): float32 resolves no smaller ones

DONE, ROWS_WANTED, MEMORY_WANTED, PAUSED = range(4)  # reasons why `descend_in_pairs` returns


class Pairs(Structure):
    """Variables, and the data from which the next pair is chosen.

    `size` variables of `count` samples lie in `tiles`, each with variables of one row and consecutive samples; at most
    `most` rows of the kernel are computed at once.
    """

    size, count, tiles, most = (
        dimension(),
        dimension(),
        dimension(),
        dimension(),
    )
    has_row = flag()
    begins, second = integers("tiles + 1"), integer()  # first variable of each tile; first tile of the second row
    u, F, lower, upper = floats("size"), floats("size"), floats("size"), floats("size")
    may_rise, may_fall = floats("size"), floats("size")  # 0, else -FAR if u may not rise, FAR if it may not fall
    diagonal = floats("count")  # k(x_i, x_i) of each sample
    tops, bottoms = floats("tiles"), floats("tiles")
    least = number()  # lower limit of curvatures
    top, bottom = floats("2"), floats("2")  # for each row, largest F that may rise and smallest that may fall
    steps, made = integer(), integer()  # number of steps; number of kernel rows computed

    wanted, gains, places = integers("most"), floats("most"), integers("most")
    missing = integer()  # number of samples in `wanted`
    exact = flag()  # True if `fill_singles` can compute the rows, False for a callable kernel


class RowStore(Structure):
    """Cache of kernel rows: place p holds the row of sample owner[p], last used at time used_at[p].

    At first there is memory (`capacity`) for fewer rows than `slots`.
    """

    slots, count = dimension(), dimension()
    capacity, used = integer(), integer()  # number of places with memory; number of places in use
    patience = integer()  # capacity grows when made - used, the number of replaced rows, reaches this
    rows = singles()
    none = singles()  # a row of zeros
    place_of, owner = integers("count"), integers("slots")
    used_at, time = integers("slots"), integer()


@inner
def touch(store: RowStore, place: int) -> None:
    """Mark a place as the most recently used one."""
    store.time += 1
    store.used_at[place] = store.time


@inner
def new_place(store: RowStore, sample: int) -> int:
    """Return a place for the row of `sample`: an unused one, otherwise the least recently used one."""
    place = store.used
    if store.used < store.capacity:
        store.used += 1
    else:
        place = 0
        for other in range(1, store.used):
            if store.used_at[other] < store.used_at[place]:
                place = other
        store.place_of[store.owner[place]] = -1
    store.owner[place], store.place_of[sample] = sample, place
    touch(store, place)
    return place


@inner
def want(pairs: Pairs, store: RowStore, sample: int) -> None:
    """List in `wanted` a sample without a row and others without one whose variables slope most; assign places."""
    n, found, split = pairs.count, 1, pairs.begins[pairs.second]
    F, rise, fall, wanted, gains, most = pairs.F, pairs.may_rise, pairs.may_fall, pairs.wanted, pairs.gains, pairs.most
    wanted[0] = sample
    for k in range(pairs.size if most > 1 else 0):
        row = int(k >= split)
        slope = F[k] - (0.5 * (pairs.top[row] + pairs.bottom[row]) if pairs.has_row else 0.0)
        if (slope <= 0.0 or rise[k] != 0.0) and (slope >= 0.0 or fall[k] != 0.0):
            continue
        slope, other = abs(slope), k % n
        if (found == most and slope <= gains[most - 1]) or store.place_of[other] >= 0 or other == sample:
            continue
        if found < most:
            found += 1
        at = found - 1
        while at > 1 and gains[at - 1] < slope:
            gains[at], wanted[at] = gains[at - 1], wanted[at - 1]
            at -= 1
        gains[at], wanted[at] = slope, other
    pairs.missing = 0
    for r in range(found):  # Two variables may list one sample.
        if store.place_of[wanted[r]] < 0:
            wanted[pairs.missing] = wanted[r]
            pairs.places[pairs.missing] = new_place(store, wanted[r])
            pairs.missing += 1
    pairs.made += pairs.missing


@inner
def has_row_of(pairs: Pairs, store: RowStore, samples: Samples, sample: int) -> bool:
    """Return True if the row of `sample` is stored or can be computed here; otherwise list it in `wanted`."""
    place = store.place_of[sample]
    if place >= 0:
        touch(store, place)
        return True
    want(pairs, store, sample)
    if pairs.exact:
        fill_singles(samples, pairs.wanted, pairs.missing, pairs.places, store.rows)
        pairs.missing = 0
    return pairs.exact


@leaf
def move_tile(F: Floats, rise: Floats, fall: Floats, Ki: Singles, Kj: Singles, t: float) -> tuple[float, float]:
    """Compute F -= t (K_i - K_j) in a tile; return its largest F that may rise and its smallest F that may fall."""
    top, bottom = -FAR, FAR
    for c in range(F.size):
        v = F[c] - t * (Ki[c] - Kj[c])
        F[c] = v
        top = larger(top, v + rise[c])
        bottom = smaller(bottom, v + fall[c])
    return top, bottom


@leaf
def gain_in_tile(F: Floats, fall: Floats, Ki: Singles, diagonal: Floats, own: float, top: float, least: float) -> float:
    """Return the largest gain of a variable of the tile paired with the variable whose F is `top`."""
    best = 0.0
    for c in range(F.size):
        slope = larger(top - F[c] - fall[c], 0.0)
        best = larger(best, slope * slope / larger(own + diagonal[c] - 2.0 * Ki[c], least))
    return best


@inner
def where_gain_is(F: Floats, fall: Floats, Ki: Singles, diagonal: Floats, own: float, top: float, least: float) -> int:
    """Return the place in the tile of the variable with the largest gain; see `gain_in_tile`."""
    best, at = -1.0, 0
    for c in range(F.size):
        slope = larger(top - F[c] - fall[c], 0.0)
        gain = slope * slope / larger(own + diagonal[c] - 2.0 * Ki[c], least)
        if gain > best:
            best, at = gain, c
    return at


@inner
def note_masks(pairs: Pairs, k: int) -> None:
    """Set may_rise[k] and may_fall[k] from u[k] and its bounds."""
    pairs.may_rise[k] = 0.0 if pairs.u[k] < pairs.upper[k] else -FAR
    pairs.may_fall[k] = 0.0 if pairs.u[k] > pairs.lower[k] else FAR


@inner
def move_gradient(pairs: Pairs, t: float, Ki: Singles, Kj: Singles) -> None:
    """Compute F -= t (K_i - K_j) for all variables, and update the extremes of F in each tile and row."""
    F, rise, fall = pairs.F, pairs.may_rise, pairs.may_fall
    for row in range(2):
        pairs.top[row], pairs.bottom[row] = -FAR, FAR
    for tile in range(pairs.tops.size):
        a, b, row = pairs.begins[tile], pairs.begins[tile + 1], int(tile >= pairs.second)
        i, j = a % pairs.count, a % pairs.count + b - a
        top, bottom = move_tile(F[a:b], rise[a:b], fall[a:b], Ki[i:j], Kj[i:j], t)
        pairs.tops[tile], pairs.bottoms[tile] = top, bottom
        pairs.top[row], pairs.bottom[row] = max(pairs.top[row], top), min(pairs.bottom[row], bottom)


@kernel
def note_extremes(pairs: Pairs, none: Singles) -> None:
    """Initialize the masks and the extremes of F from u and F; `none` is a row of zeros."""
    for k in range(pairs.size):
        note_masks(pairs, k)
    move_gradient(pairs, 0.0, none, none)


@inner
def first_variable(pairs: Pairs, row: int) -> int:
    """Return the variable with the largest F that may rise; without a row, one that may fall if its |F| is larger."""
    top, bottom = pairs.top[row], pairs.bottom[row]
    falls, tile = not pairs.has_row and -bottom > top, pairs.second * row
    while pairs.bottoms[tile] > bottom if falls else pairs.tops[tile] < top:
        tile += 1
    k = pairs.begins[tile]
    while pairs.F[k] + pairs.may_fall[k] > bottom if falls else pairs.F[k] + pairs.may_rise[k] < top:
        k += 1
    return k


@inner
def second_variable(pairs: Pairs, row: int, i: int, Ki: Singles) -> int:
    """Return the variable of `row` that gains most by falling while i rises, or -1 if none gains."""
    n, begins, own, top, best, at = pairs.count, pairs.begins, pairs.diagonal[i % pairs.count], pairs.top[row], 0.0, -1
    F, fall, diagonal, least = pairs.F, pairs.may_fall, pairs.diagonal, pairs.least
    for tile in range(pairs.second * row, pairs.tops.size if row == 1 else pairs.second):
        a, b = begins[tile], begins[tile + 1]
        j = a % n
        gain = gain_in_tile(F[a:b], fall[a:b], Ki[j:], diagonal[j:], own, top, least)
        if gain > best:
            best, at = gain, tile
    if at < 0:
        return -1
    a, b = begins[at], begins[at + 1]
    j = a % n
    return a + where_gain_is(F[a:b], fall[a:b], Ki[j:], diagonal[j:], own, top, least)  # type: ignore[no-any-return]


@inner
def move(pairs: Pairs, i: int, j: int, t: float, Ki: Singles, Kj: Singles) -> None:
    """Compute u_i += t and u_j -= t (none if j is -1), exactly to a bound that is met; update masks, F and extremes."""
    u = pairs.u
    end = pairs.upper[i] if t > 0.0 else pairs.lower[i]
    u[i] = end if t == end - u[i] else u[i] + t
    note_masks(pairs, i)
    if j >= 0:
        u[j] = pairs.lower[j] if t == u[j] - pairs.lower[j] else u[j] - t
        note_masks(pairs, j)
    move_gradient(pairs, t, Ki, Kj)
    pairs.steps += 1


@kernel
def descend_in_pairs(pairs: Pairs, store: RowStore, samples: Samples, tol: float, most: int) -> int:
    """Step until no slope exceeds `tol`, rows or memory are wanted, or `most` entries were read; return the reason."""
    n, work = pairs.count, 0
    while work < most:
        top, bottom = pairs.top, pairs.bottom
        row = int(top[1] - bottom[1] > top[0] - bottom[0])
        if (top[row] - bottom[row] if pairs.has_row else max(top[0], -bottom[0])) <= tol:
            return DONE
        if store.capacity < store.slots and pairs.made - store.used >= store.patience:
            return MEMORY_WANTED
        made = pairs.made
        i = first_variable(pairs, row)
        if not has_row_of(pairs, store, samples, i % n):
            return ROWS_WANTED
        place = store.place_of[i % n]
        Ki = store.rows[place * n : place * n + n]
        u, lower, upper = pairs.u, pairs.lower, pairs.upper
        if pairs.has_row:
            j = second_variable(pairs, row, i, Ki)
            if j < 0:
                return DONE
            if not has_row_of(pairs, store, samples, j % n):
                return ROWS_WANTED
            place = store.place_of[j % n]
            Kj = store.rows[place * n : place * n + n]
            curvature = pairs.diagonal[i % n] + pairs.diagonal[j % n] - 2.0 * Ki[j % n]
            t = min((top[row] - pairs.F[j]) / max(curvature, pairs.least), upper[i] - u[i], u[j] - lower[j])
            move(pairs, i, j, t, Ki, Kj)
        else:
            t = pairs.F[i] / max(pairs.diagonal[i % n], pairs.least)
            t = min(max(t, lower[i] - u[i]), upper[i] - u[i])
            move(pairs, i, -1, t, Ki, store.none)
        work += pairs.size + 8 * n * (pairs.made - made)
    return PAUSED
