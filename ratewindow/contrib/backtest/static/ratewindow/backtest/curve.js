/* Draws the curve of limits, and lets a limit be chosen: by dragging its line, or by the slider. The table and the clients below
   follow. The page says the same without it. */
"use strict";

(() => {
const draw = (section) => {
    const source = document.getElementById(`${section.id}-data`);
    if (!source || !window.uPlot) return;
    const data = JSON.parse(source.textContent);
    const find = (selector) => section.querySelector(selector);
    const [chosen, plot, slider, said] = [".rw-curve-chosen", ".rw-curve-plot", "input[type=range]", ".rw-curve-said"].map(find);
    const rows = [...section.querySelectorAll("tr[data-limit]")];
    const number = new Intl.NumberFormat(document.documentElement.lang || undefined);
    const colour = (node, property = "color") => getComputedStyle(node)[property];
    chosen.hidden = false;
    slider.value = slider.defaultValue; // not what the browser remembers of an earlier visit

    // Both axes are logarithmic; that of clients begins at 0.
    const x = (limit) => Math.log10(limit);
    const y = (clients) => Math.log10(1 + clients);
    const places = data.limits.map(x);
    const last = places.length - 1;
    const series = [{name: "caught", values: data.caught}, {name: "innocent", values: data.innocent}];

    const steps = (most) => [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power)).filter((n) => n <= most);
    const some = (values, room) => {
        const tens = values.filter((n) => Number.isInteger(Math.log10(n)));
        return values.length <= room ? values : tens;
    };

    const at = () => Number(slider.value);
    /* A line at a limit, with a word in a row at its top: on its right, or on its left where it `yields` to another line or has no
       room. */
    const line = (u, limit, word, dash, width, row = 0, yields = false) => {
        const {ctx, bbox} = u;
        const left = u.valToPos(x(limit), "x", true);
        ctx.lineWidth = width * devicePixelRatio;
        ctx.setLineDash(dash.map((n) => n * devicePixelRatio));
        ctx.beginPath();
        ctx.moveTo(left, bbox.top);
        ctx.lineTo(left, bbox.top + bbox.height);
        ctx.stroke();
        if (!word) return;
        const room = ctx.measureText(word).width + 8 * devicePixelRatio;
        const isLeft = left + room > bbox.left + bbox.width || (yields && left - room > bbox.left);
        ctx.textAlign = isLeft ? "right" : "left";
        ctx.fillText(word, left + (isLeft ? -5 : 5) * devicePixelRatio, bbox.top + row * 16 * devicePixelRatio);
    };
    const drawLines = (u) => {
        const {ctx, bbox} = u;
        ctx.save();
        ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
        ctx.textBaseline = "top";
        ctx.fillStyle = ctx.strokeStyle = colour(plot);
        if (data.now) line(u, data.now, data.words.now, [3, 3], 1, 1, data.now < data.suggested);
        if (data.suggested) line(u, data.suggested, data.words.suggested, [3, 3], 1);
        ctx.fillStyle = ctx.strokeStyle = colour(said);
        line(u, data.limits[at()], "", [], 2);
        ctx.beginPath(); // a handle
        ctx.arc(u.valToPos(places[at()], "x", true), bbox.top + bbox.height / 2, 6 * devicePixelRatio, 0, 2 * Math.PI);
        ctx.fill();
        ctx.restore();
    };

    const axis = {stroke: () => colour(plot), ticks: {show: false}, font: "12px system-ui, sans-serif"};
    const grid = {stroke: () => colour(rows[0].firstElementChild, "borderBottomColor"), width: 1};
    const swatch = (name) => find(`.rw-curve-legend .rw-curve-${name} .rw-swatch`);
    const faint = (text) => text.replace(/^rgba?\(([^,)]+,[^,)]+,[^,)]+).*\)$/, "rgba($1, 0.18)");
    const ends = (low, high) => [low - 0.04 * (high - low || 1), high + 0.04 * (high - low || 1)];
    const chart = new uPlot({
        width: plot.clientWidth,
        height: 240,
        padding: [12, 12, 0, 0],
        legend: {show: false},
        cursor: {show: false, drag: {x: false, y: false}},
        scales: {
            x: {time: false, range: () => ends(places[0], places[last])},
            y: {range: () => [0, 1.06 * y(Math.max(1, ...series.flatMap((each) => each.values)))]},
        },
        axes: [
            {
                ...axis,
                grid: {show: false},
                splits: (u) => some(steps(data.limits[last]), u.bbox.width / devicePixelRatio / 44).map(x),
                values: (u, splits) => splits.map((place) => number.format(Math.round(10 ** place))),
                size: 28,
            },
            {
                ...axis,
                grid,
                splits: () => [0, ...steps(1e8).filter((n) => Number.isInteger(Math.log10(n)))].map(y),
                values: (u, splits) => splits.map((place) => number.format(Math.round(10 ** place - 1))),
                size: (u, values) => 20 + 7 * Math.max(2, ...(values || []).map((text) => text.length)),
            },
        ],
        series: [{}, ...series.map(({name}) => ({
            paths: uPlot.paths.stepped({align: 1}),
            points: {show: false},
            width: 2,
            stroke: () => colour(swatch(name), "backgroundColor"),
            fill: () => faint(colour(swatch(name), "backgroundColor")),
        }))],
        hooks: {draw: [drawLines]},
    }, [places, ...series.map((each) => each.values.map(y))], plot);

    /* Show a limit everywhere: line, slider, sentence, row, clients. */
    const show = () => {
        const limit = data.limits[at()];
        said.textContent = data.said[at()];
        slider.setAttribute("aria-valuetext", data.said[at()]);
        for (const [i, row] of rows.entries()) {
            if (i === at()) row.setAttribute("aria-current", "true");
            else row.removeAttribute("aria-current");
        }
        const row = rows[at()];
        const table = row.closest(".rw-curve-table");
        table.scrollTop = row.offsetTop - (table.clientHeight - row.offsetHeight) / 2; // the table's alone, not the page's
        for (const who of section.querySelectorAll(".rw-curve-who")) {
            const clients = [...who.querySelectorAll("tr[data-peak]")];
            for (const client of clients) client.hidden = Number(client.dataset.peak) <= limit;
            who.hidden = clients.every((client) => client.hidden);
            who.previousElementSibling.hidden = !who.hidden;
        }
        chart.redraw(false);
    };
    /* The same, and into the fields that take the limit. */
    const choose = (index) => {
        slider.value = index;
        show();
        for (const field of document.querySelectorAll(`[data-rw-limit="${section.id}"]`)) {
            field.value = data.limits[at()];
            field.dispatchEvent(new Event("input", {bubbles: true}));
        }
    };
    slider.addEventListener("input", () => choose(at()));

    const nearest = (event) => {
        const place = chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, "x");
        return places.reduce((best, each, i) => (Math.abs(each - place) < Math.abs(places[best] - place) ? i : best), 0);
    };
    const follow = (event) => nearest(event) !== at() && choose(nearest(event));
    chart.over.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        chart.over.setPointerCapture(event.pointerId);
        chart.over.addEventListener("pointermove", follow);
        slider.focus({preventScroll: true});
        follow(event);
        event.preventDefault();
    });
    for (const end of ["pointerup", "pointercancel"])
        chart.over.addEventListener(end, () => chart.over.removeEventListener("pointermove", follow));

    show();
    new ResizeObserver(() => chart.setSize({width: plot.clientWidth, height: 240})).observe(plot);
    // The theme button sets an attribute of the page; a change of the system's theme does not.
    new MutationObserver(() => chart.redraw(false)).observe(document.documentElement, {attributes: true, attributeFilter: ["data-theme", "class"]});
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.redraw(false));
};

for (const section of document.querySelectorAll(".rw-curve")) draw(section);
})();
