// In the forms of blocks and exemptions: shows the rate only where the choice needs it.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
    const value = (form, name) => {
        const found = [...form.elements].filter((each) => each.name === name && (each.type !== "radio" || each.checked));
        return found.length ? found[0].value : "";
    };
    const show = (form, name, shown) => {
        for (const row of form.querySelectorAll(`.rw-field-${name}, .field-${name}`))
            row.hidden = !shown && !row.querySelector(".errorlist");
    };
    for (const form of document.querySelectorAll(".rw-block-form form, #override_form")) {
        const fit = () => {
            show(form, "rate", value(form, "action") === "rate");
        };
        form.addEventListener("change", fit);
        fit();
    }
    const short = document.querySelector(".rw-block-form");
    if (short && matchMedia("(max-width: 767px)").matches) short.open = false;
});
