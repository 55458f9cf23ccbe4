"""Charts as SVG, made by Vega-Lite (altair, vl-convert) in this process; a chart of the same figures is made once."""

from functools import lru_cache
from typing import Any

from kgcheck.model import TallyMark

Rows = tuple[tuple[str, str, int], ...]
"""What a bar or a point is of, which series, and how many."""

WIDTH = 560
_LABELS = 190
"""Room for names of bars: the letters of a browser may be wider than those that the chart is made with."""
_COLOURS = {
    "light": {
        "text": "#1b2027", "muted": "#545d69", "line": "#d5d9e0",
        "refuted": "#b3261e", "lacks_it": "#d9772f", "insufficient": "#b07a16", "unavailable": "#7a5cd0",
        "supported": "#2b8a52", "rightly_absent": "#7fa38c",
    },
    "dark": {
        "text": "#e7eaee", "muted": "#a4adb9", "line": "#343c47",
        "refuted": "#ff8a80", "lacks_it": "#f2a56b", "insufficient": "#e9bd58", "unavailable": "#b49bff",
        "supported": "#55b97d", "rightly_absent": "#8fb39c",
    },
}  # fmt: skip


@lru_cache(maxsize=64)
def chart(name: str, rows: Rows, theme: str) -> str:
    """A chart."""
    # Both take a moment to be imported.
    import altair as alt
    import vl_convert

    colours = _COLOURS[theme]
    data = alt.InlineData(values=[{"of": of, "series": series, "count": count} for of, series, count in rows])
    domain = [mark.value for mark in TallyMark if any(series == mark.value for _, series, _ in rows)]
    scale = alt.Scale(domain=domain, range=[colours[d] for d in domain])
    legend = alt.Legend(title=None, orient="top", symbolType="square")
    colour = alt.Color("series:N", scale=scale, legend=legend, sort=domain)
    names = list(dict.fromkeys(of for of, _, _ in rows))
    base: Any = alt.Chart(data)
    if name == "trend":
        made = base.mark_line(point=alt.OverlayMarkDef(size=36), strokeWidth=2).encode(
            x=alt.X("of:N", sort=names, axis=alt.Axis(title=None, labelAngle=-35, labelOverlap=True)),
            y=alt.Y("count:Q", axis=alt.Axis(title="findings", tickMinStep=1)),
            color=colour,
            shape=alt.Shape("series:N", legend=None, sort=domain),
        )
    else:
        # Shares: a label with a million nodes would else hide one with a hundred. The number stands in the table.
        made = base.mark_bar(height=13).encode(
            y=alt.Y("of:N", sort=names, axis=alt.Axis(title=None, labelLimit=200, minExtent=_LABELS, ticks=False)),
            x=alt.X("count:Q", stack="normalize", axis=alt.Axis(title=None, format="%", tickCount=5)),
            color=colour,
            order=alt.Order("rank:Q"),
        ).transform_calculate(rank=f"indexof({domain}, datum.series)")  # fmt: skip
    font = "system-ui, sans-serif"
    # The size is that of the whole image, so that a page can leave room for it.
    fit = alt.AutoSizeParams(type="fit", contains="padding")
    height = chart_height(name, rows)
    made = made.properties(width=WIDTH, height=height, background="transparent", autosize=fit)
    made = made.configure_view(stroke=None).configure(font=font).configure_axis(
        labelColor=colours["text"], titleColor=colours["muted"], gridColor=colours["line"],
        domainColor=colours["line"], tickColor=colours["line"], labelFontSize=12, titleFontSize=12,
        titleFontWeight="normal",
    ).configure_legend(labelColor=colours["text"], labelFontSize=12)  # fmt: skip
    return str(vl_convert.vegalite_to_svg(made.to_dict()))


def load() -> None:
    """Import what draws, which takes a second or two, before somebody waits for it."""
    import altair  # noqa: F401
    import vl_convert  # noqa: F401


def chart_height(name: str, rows: Rows) -> int:
    """How high a chart is, so that a page can leave room for it."""
    return 300 if name == "trend" else 66 + 20 * max(len({of for of, _, _ in rows}), 1)
