/* Keeps the report up to date without a reload: asks for the part that changes, unless nobody looks, or somebody chooses bars. */
"use strict";

(() => {
    const button = document.getElementById("rw-live");
    const body = document.getElementById("rw-body");
    const said = document.getElementById("rw-said");
    if (!button || !body) return;
    const every = Number(button.dataset.every) * 1000;
    let timer = 0;
    button.hidden = false;

    const isOn = () => button.getAttribute("aria-pressed") === "true";
    const isChoosing = () => body.querySelector(".rw-plot:focus") !== null;
    const sentence = () => (document.getElementById("rw-sentence") || body).textContent.trim();

    /* How to find again what has the focus: a fold or a button by its id, a part of the legend by its class, a link by its address. */
    const focused = () => {
        const at = document.activeElement;
        if (!body.contains(at)) return "";
        const fold = at.closest("details[id]");
        if (at.matches("summary") && fold) return `#${CSS.escape(fold.id)} > summary`;
        if (at.matches("button[id]")) return `#${CSS.escape(at.id)}`;
        if (at.matches(".rw-key")) return `.${[...at.classList].map(CSS.escape).join(".")}`;
        return at.matches("a[href]") ? `a[href="${CSS.escape(at.getAttribute("href"))}"]` : "";
    };

    const show = (text) => {
        const fresh = new DOMParser().parseFromString(text, "text/html").body;
        if (!fresh.querySelector("#rw-sentence")) throw new Error("not the report");
        const open = [...body.querySelectorAll("details[open]")].map((each) => each.id);
        const before = sentence();
        const focus = focused();
        body.replaceChildren(...fresh.childNodes);
        for (const each of body.querySelectorAll("details")) if (each.id && open.includes(each.id)) each.open = true;
        document.dispatchEvent(new CustomEvent("ratewindow:report"));
        if (focus) body.querySelector(focus)?.focus({preventScroll: true});
        if (sentence() !== before) said.textContent = sentence();
    };

    const ask = async () => {
        if (document.hidden || isChoosing()) return;
        try {
            const answer = await fetch(button.dataset.url, {headers: {"X-Requested-With": "XMLHttpRequest"}});
            if (!answer.ok || answer.redirected) throw new Error(`${answer.status}`);
            const text = await answer.text();
            if (isOn() && !isChoosing()) show(text);
            said.classList.remove("errornote");
        } catch {
            stop();
            said.textContent = button.dataset.failed;
            said.classList.add("errornote");
        }
    };

    const next = () => {
        clearTimeout(timer);
        if (isOn()) timer = setTimeout(() => ask().finally(next), every);
    };
    const stop = () => {
        button.setAttribute("aria-pressed", "false");
        next();
    };
    button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", String(!isOn()));
        if (isOn()) ask();
        next();
    });
    document.addEventListener("visibilitychange", () => {
        if (!document.hidden && isOn()) ask();
    });
    next();
})();
