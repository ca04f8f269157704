/* Draws the bars of the report, with the numbers of the page and the colours of its style sheet, in both themes.
   The page can be read without it. */
"use strict";

(() => {
const hidden = new Set(); // parts that are taken out, also when the numbers are drawn again
let chart = null;

const draw = () => {
    const source = document.getElementById("rw-chart-data");
    const figure = document.getElementById("rw-chart");
    if (chart) chart.destroy();
    chart = null;
    if (!source || !figure || !window.uPlot) return;
    const data = JSON.parse(source.textContent);
    const number = new Intl.NumberFormat(document.documentElement.lang || undefined);

    // From the bottom to the top of a bar. Requests that would be refused are a part of those that passed.
    const parts = [
        {name: "passed", label: data.labels.passed, values: data.passed, height: data.passed.map((n, i) => n - data.would_refuse[i])},
        {name: "would", label: data.labels.would, values: data.would_refuse, height: data.would_refuse},
        {name: "refused", label: data.labels.refused, values: data.refused, height: data.refused},
    ];
    for (const part of parts) part.shown = !hidden.has(part.name);

    const element = (tag, className, text = "") => {
        const made = document.createElement(tag);
        made.className = className;
        made.textContent = text;
        return made;
    };

    const legend = element("div", "rw-legend");
    const plot = element("div", "rw-plot");
    const tip = element("div", "rw-tip");
    tip.hidden = true;
    figure.append(legend, plot);
    figure.hidden = false;
    for (const part of parts) {
        const button = element("button", `rw-key rw-${part.name}`);
        button.type = "button";
        button.setAttribute("aria-pressed", String(part.shown));
        part.swatch = element("span", "rw-swatch");
        button.append(part.swatch, part.label);
        button.addEventListener("click", () => {
            part.shown = !part.shown;
            if (part.shown) hidden.delete(part.name);
            else hidden.add(part.name);
            button.setAttribute("aria-pressed", String(part.shown));
            chart.setData(columns());
        });
        legend.append(button);
    }
    const colour = (node, property) => getComputedStyle(node)[property];

    /* Stacked bars are drawn over one another, the tallest first. */
    const columns = () => {
        const below = data.short.map(() => 0);
        const stacked = parts.map((part) => part.height.map((n, i) => (below[i] += part.shown ? n : 0)));
        return [data.short.map((_, i) => i), ...stacked.reverse()];
    };

    // Possible numbers of steps between two ticks, so that ticks are at full hours, days or tens.
    const STRIDES = {
        60: [1, 5, 10, 15, 30, 60], 300: [3, 6, 12, 24, 48], 900: [4, 8, 16, 24, 48], 3600: [6, 12, 24, 48],
        7200: [12, 24, 36, 48], 21600: [4, 8, 16, 28], 86400: [1, 2, 5, 7, 14, 28],
    };
    const ticks = (u) => {
        const room = Math.max(2, Math.floor(u.bbox.width / devicePixelRatio / 58));
        const strides = STRIDES[data.step] || [1, 2, 4, 8, 16];
        const stride = strides.find((n) => data.wall.length / n <= room) || strides[strides.length - 1];
        return data.wall.map((_, i) => i).filter((i) => data.wall[i] % stride === 0);
    };

    const show = (u) => {
        const i = u.cursor.idx;
        tip.hidden = i == null;
        if (i == null) return;
        tip.replaceChildren(element("strong", "", data.long[i]));
        for (const part of [...parts].reverse()) {
            const line = element("span", `rw-${part.name}`);
            line.append(element("span", "rw-swatch"), part.label, element("b", "", number.format(part.values[i])));
            tip.append(line);
        }
        for (const mark of data.marks.filter((each) => each.step === i)) tip.append(element("em", "", `${mark.when} ${mark.text}`));
        const x = u.valToPos(i, "x");
        const left = x < u.over.clientWidth / 2;
        tip.style.left = left ? `${x + 14}px` : "auto";
        tip.style.right = left ? "auto" : `${u.over.clientWidth - x + 14}px`;
    };

    /* A thin line at each edit, with who and what beside it where there is room: the newest first, which somebody may just have made. */
    const drawMarks = (u) => {
        const {ctx, bbox} = u;
        const ratio = devicePixelRatio;
        let end = bbox.left + bbox.width;
        ctx.save();
        ctx.font = `${11 * ratio}px system-ui, sans-serif`;
        ctx.fillStyle = ctx.strokeStyle = colour(legend, "color");
        ctx.lineWidth = ratio;
        ctx.setLineDash([3 * ratio, 3 * ratio]);
        ctx.textAlign = "left";
        ctx.textBaseline = "top";
        for (const step of [...new Set(data.marks.map((mark) => mark.step))].sort((a, b) => b - a)) {
            const here = data.marks.filter((mark) => mark.step === step);
            const x = u.valToPos(step, "x", true);
            ctx.beginPath();
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
            ctx.stroke();
            const text = here[0].short + (here.length > 1 ? ` +${here.length - 1}` : "");
            const width = ctx.measureText(text).width + 8 * ratio;
            const left = x + width > end ? x - width : x + 4 * ratio;
            if (left < bbox.left || left + width > end || width > bbox.width / 2) continue;
            ctx.fillText(text, left, bbox.top);
            end = left;
        }
        ctx.restore();
    };

    const axis = {
        stroke: () => colour(legend, "color"),
        grid: {show: false},
        ticks: {show: false},
        font: "12px system-ui, sans-serif",
    };
    const bars = uPlot.paths.bars({size: [0.8, 48], gap: 0});
    chart = new uPlot({
        width: plot.clientWidth,
        height: 180,
        padding: [12, 20, 0, 0],
        legend: {show: false},
        cursor: {y: false, points: {show: false}, drag: {x: true, y: false, setScale: false}},
        scales: {
            x: {time: false, range: () => [-0.6, data.short.length - 0.4]},
            y: {range: (u, low, high) => [0, high > 0 ? high * 1.08 : 1]},
        },
        axes: [
            {...axis, splits: ticks, values: (u, splits) => splits.map((i) => data.short[i]), size: 28},
            {
                ...axis,
                size: (u, values) => 20 + 7 * Math.max(2, ...(values || []).map((text) => text.length)),
                incrs: [1, 2, 5].flatMap((n) => [0, 1, 2, 3, 4, 5, 6, 7, 8].map((power) => n * 10 ** power)).sort((a, b) => a - b),
                space: 44,
                values: (u, splits) => splits.map((n) => number.format(n)),
                grid: {stroke: () => colour(figure, "borderTopColor"), width: 1},
            },
        ],
        series: [{}, ...[...parts].reverse().map((part) => ({
            paths: bars,
            points: {show: false},
            width: 0,
            fill: () => colour(part.swatch, "backgroundColor"),
        }))],
        hooks: {setCursor: [show], draw: [drawMarks], setSelect: [(u) => dragged(u)]},
    }, columns(), plot);
    chart.over.append(tip);
    const mine = chart;

    const last = data.short.length - 1;
    const within = (i) => Math.min(last, Math.max(0, i));
    /* Another report, of the bars from one to another: its address shows the same to a colleague. */
    const zoom = (one, other) => {
        const [from, to] = [Math.min(one, other), Math.max(one, other)];
        const end = to < last ? data.from[to + 1] : data.to;
        location.search = new URLSearchParams([...new URLSearchParams(data.query), ["start", data.from[from]], ["end", end]]);
    };
    const dragged = (u) => {
        if (u.select.width < 8) return;
        zoom(...[u.select.left, u.select.left + u.select.width].map((x) => within(Math.round(u.posToVal(x, "x")))));
    };

    // By keys: the arrows choose a bar, with Shift several.
    const said = element("p", "rw-unseen");
    said.setAttribute("role", "status");
    plot.tabIndex = 0;
    plot.setAttribute("role", "application");
    plot.setAttribute("aria-label", figure.getAttribute("aria-label"));
    plot.setAttribute("aria-describedby", "rw-zoom-help");
    figure.append(said);
    const help = document.getElementById("rw-zoom-help");
    if (help) {
        help.hidden = false;
        legend.append(help);
    }
    let anchor = last;
    let at = last;
    const select = () => {
        const [from, to] = [Math.min(anchor, at), Math.max(anchor, at)];
        const [left, right] = [mine.valToPos(from - 0.5, "x"), mine.valToPos(to + 0.5, "x")];
        mine.setCursor({left: mine.valToPos(at, "x"), top: 0});
        mine.setSelect({left, width: right - left, top: 0, height: mine.over.clientHeight}, false);
        const numbers = [...parts].reverse().map((part) =>
            `${part.label} ${number.format(part.values.slice(from, to + 1).reduce((sum, n) => sum + n, 0))}`);
        const span = data.labels.zoom.replace("%s", data.long[from]).replace("%s", data.long[to]);
        said.textContent = `${numbers.join(", ")}. ${span}`;
    };
    const clear = () => {
        mine.setCursor({left: -10, top: -10});
        mine.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
        said.textContent = "";
    };
    const moves = {ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity};
    plot.addEventListener("keydown", (event) => {
        if (event.key in moves) {
            at = within(at + moves[event.key]);
            if (!event.shiftKey) anchor = at;
            select();
        } else if (event.key === "Enter") {
            zoom(anchor, at);
        } else if (event.key === "Escape") {
            clear();
        } else {
            return;
        }
        event.preventDefault();
    });
    plot.addEventListener("blur", clear);

    new ResizeObserver(() => mine === chart && mine.setSize({width: plot.clientWidth, height: 180})).observe(plot);
};

// The theme button sets an attribute of the page; a change of the system's theme does not.
const redraw = () => chart && chart.redraw();
new MutationObserver(redraw).observe(document.documentElement, {attributes: true, attributeFilter: ["data-theme"]});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
document.addEventListener("ratewindow:report", draw); // the numbers have been read again
draw();
})();
