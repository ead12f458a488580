# SPDX-License-Identifier: Apache-2.0
"""Numbers as docs/performance.md writes them."""


def counted(value):
    return f"{value:,}"


def digits(value, text, bounds):
    """`text`, with further digits of the value where it would read as one of the bounds, which were missed."""
    _, _, fraction = text.partition(".")
    for places in range(len(fraction) + 1, len(fraction) + 5):
        if not any(float(text) == round(bound, places - 1) for bound in bounds):
            break
        text = f"{value:.{places}f}"
    return text


def measured(value, unit, bounds=()):
    """Three digits, or four."""
    unit = "µs" if unit == "us" else unit
    if value >= 1e6:
        return f"{value / 1e6:.0f} M {unit}"
    text = f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:#.3g}"
    return f"{digits(value, text, bounds)} {unit}"


def ratio(value, bounds=()):
    return "" if value is None else digits(value, f"{value:.3f}", bounds)


def times(value):
    """Three digits, never as a power."""
    return f"{float(f'{value:.3g}'):.0f}" if value >= 99.95 else f"{value:#.3g}"


def power(value, bounds=()):
    """2.21·10^9"""
    places = next((p for p in (2, 3, 4, 5) if all(float(f"{value:.{p}e}") != bound for bound in bounds)), 6)
    mantissa, exponent = f"{value:.{places}e}".split("e")
    factor = f"{float(mantissa):g}"
    return ("" if factor == "1" else factor + "·") + f"10^{int(exponent)}"
