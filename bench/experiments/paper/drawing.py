"""Pictures of the results, as SVG: lines over two axes, of which the first may be logarithmic."""
import html
import math

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 190, 40, 52
# Told apart also by people who do not see all colours (Okabe and Ito's), and by their marks.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8A8A00")


class Axis:
    def __init__(self, values, low, high, is_log=False):
        self.is_log = is_log
        least, most = self.scaled(min(values)), self.scaled(max(values))
        margin = 0.06 * (most - least or 1)
        self.least, self.most = least - margin, most + margin
        self.low, self.high = low, high

    def scaled(self, value):
        return math.log10(value) if self.is_log else value

    def at(self, value):
        share = (self.scaled(value) - self.least) / (self.most - self.least)
        return self.low + share * (self.high - self.low)

    def ticks(self):
        if self.is_log:
            decades = range(math.floor(self.least), math.ceil(self.most) + 1)
            found = [10.0**d * step for d in decades for step in (1, 2, 5)]
        else:
            rough = (self.most - self.least) / 8
            unit = 10 ** math.floor(math.log10(rough))
            step = next(unit * s for s in (1, 2, 5, 10) if unit * s >= rough)
            found = [step * i for i in range(math.floor(self.least / step),
                                             math.ceil(self.most / step) + 1)]
        return [t for t in found if self.least <= self.scaled(t) <= self.most]


def text(x, y, words, anchor="start", size=12, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {more}>' \
           f'{html.escape(words)}</text>'


def mark(x, y, number, colour):
    shapes = (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>',
              f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>',
              f'<path d="M{x:.1f} {y - 5.5:.1f} l5.5 9.5 h-11 z" fill="{colour}"/>',
              f'<path d="M{x:.1f} {y - 6:.1f} l6 6 l-6 6 l-6 -6 z" fill="{colour}"/>')
    return shapes[number % len(shapes)]


def chart(title, x_name, y_name, series, is_log=False):
    """Returns a picture of `series`, a dict of names with lists of (x, y)."""
    points = [point for line in series.values() for point in line]
    x_axis = Axis([x for x, _ in points], LEFT, WIDTH - RIGHT, is_log)
    y_axis = Axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'font-family="sans-serif">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
             text(LEFT, 22, title, size=14)]
    for tick in x_axis.ticks():
        x = x_axis.at(tick)
        parts += [f'<path d="M{x:.1f} {TOP} V{HEIGHT - BOTTOM}" stroke="#ddd"/>',
                  text(x, HEIGHT - BOTTOM + 18, f"{tick:g}", "middle")]
    for tick in y_axis.ticks():
        y = y_axis.at(tick)
        parts += [f'<path d="M{LEFT} {y:.1f} H{WIDTH - RIGHT}" stroke="#ddd"/>',
                  text(LEFT - 8, y + 4, f"{tick:g}", "end")]
    parts += [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_name, "middle"),
              text(0, 0, y_name, "middle",
                   more=f'transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"')]
    for number, (name, line) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        at = [(x_axis.at(x), y_axis.at(y)) for x, y in line]
        path = " L".join(f"{x:.1f} {y:.1f}" for x, y in at)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [mark(x, y, number, colour) for x, y in at]
        y = TOP + 10 + 22 * number
        parts += [mark(WIDTH - RIGHT + 20, y - 4, number, colour),
                  text(WIDTH - RIGHT + 32, y, name)]
    return "\n".join([*parts, "</svg>", ""])
