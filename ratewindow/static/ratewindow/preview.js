/* Says what the rule in the form amounts to while somebody types. The server reads the form as it does on saving. */
"use strict";
{
    const shown = [...document.querySelectorAll(".rw-preview")];
    const form = shown[0]?.dataset.url ? shown[0].closest("form") : null;
    const DELAY_MS = 300;
    let sent = null, timer = 0, asking = null;

    const show = (content) => {
        for (const each of shown)
            each.replaceChildren(...content.map((node) => node.cloneNode(true)));
    };

    const ask = async () => {
        const data = new FormData(form), text = new URLSearchParams(data).toString();
        if (text === sent) return;
        sent = text;
        if (asking) asking.abort();
        asking = new AbortController();
        try {
            const answer = await fetch(shown[0].dataset.url, { method: "POST", body: data, redirect: "error", signal: asking.signal });
            if (!answer.ok) throw new Error(answer.statusText);
            const page = new DOMParser().parseFromString(await answer.text(), "text/html");
            if (page.body.innerHTML.trim() !== shown[0].innerHTML.trim()) show([...page.body.childNodes]);
        } catch (error) {
            if (error.name === "AbortError") return;
            sent = null;
            show([new Text(shown[0].dataset.unknown)]);
        }
    };

    const later = () => {
        clearTimeout(timer);
        timer = setTimeout(ask, DELAY_MS);
    };

    if (form) {
        for (const happening of ["input", "change"]) form.addEventListener(happening, later);
        for (const happening of ["formset:added", "formset:removed"]) document.addEventListener(happening, later);
        if (window.jQuery) window.jQuery(form).on("change", later);  // by which Jazzmin's selects report a choice
        ask();
    }
}
