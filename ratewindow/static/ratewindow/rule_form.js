/* The form of a rule, or of an alert channel: shows what goes with the choices made. Without this script every field is visible. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector("[data-rw-shown]")?.form;
    if (!form) return;

    const value = (name) => {
        const inputs = [...form.querySelectorAll(`[name="${name}"]`)];
        return (inputs[0]?.type === "radio" ? inputs.find((input) => input.checked) : inputs[0])?.value ?? "";
    };
    // "name=a b" holds for the values a and b of that field, "name!=a b" for all others; several, joined by ";", together.
    const holds = (conditions) => conditions.split(";").every((condition) => {
        const [, name, not, values] = condition.match(/^(\w+)(!?)=(.*)$/);
        return values.split(" ").includes(value(name)) === !not;
    });
    const rowOf = (input) => input.closest(".form-row, .form-group") ?? input.parentElement;
    const cellOf = (element) => element.closest("td, .grp-td") ?? rowOf(element);

    function showWhatFits() {
        for (const input of form.querySelectorAll("[data-rw-shown]")) rowOf(input).hidden = !holds(input.dataset.rwShown);
        for (const input of form.querySelectorAll("[data-rw-used]"))
            rowOf(input).hidden = input.disabled = !holds(input.dataset.rwUsed);
        for (const other of form.querySelectorAll("[name$=_other]"))
            other.hidden = other.disabled = value(other.name.replace(/_other$/, "")) !== "other";
        for (const row of form.querySelectorAll("#windows-group select[name$='-algorithm']")) showColumns(row);
    }

    // A phone shows no head of the table: each cell of a limit has the name of its column, in the reader's language.
    for (const head of form.querySelectorAll("#windows-group thead th")) {
        const column = head.className.match(/column-(\w+)/)?.[1];
        const name = head.textContent.trim() + (head.matches(".required") ? " *" : "");
        for (const cell of form.querySelectorAll(`#windows-group td.${column ? `field-${column}` : "delete"}`))
            cell.dataset.rwName = name;
    }

    // The columns that a limit's algorithm does not use show a dash, and are not sent.
    function showColumns(select) {
        const explained = document.querySelector(`[data-rw-algorithm="${select.value}"]`);
        const used = explained?.dataset.rwColumns.split(" ") ?? [];
        for (const column of ["buckets", "burst", "aligned_to"]) {
            const input = form.querySelector(`[name="${select.name.replace(/algorithm$/, column)}"]`);
            if (!input) continue;
            input.disabled = !used.includes(column);
            input.parentElement.classList.toggle("rw-unused", input.disabled);
        }
        const cell = cellOf(select);
        let help = cell.querySelector(".rw-algorithm-help");
        if (!help) {
            help = cell.appendChild(document.createElement("div"));
            help.className = "help rw-algorithm-help";
            help.id = `${select.id}_explained`;
            select.setAttribute("aria-describedby", help.id);
        }
        const text = select.selectedIndex > 0 ? (explained?.textContent ?? "") : ""; // the first is recommended
        if (help.textContent !== text) help.textContent = text;
    }

    function changed(event) {
        showWhatFits();
        if (event.target.value === "other") form.elements[`${event.target.name}_other`]?.focus();
    }

    form.addEventListener("change", changed);
    // Some themes put widgets of jQuery over selects, whose events only that copy of jQuery hears.
    for (const jQuery of new Set([window.jQuery, window.django?.jQuery].filter(Boolean)))
        jQuery(form).on("change", (event) => event.originalEvent || changed(event));
    new MutationObserver(showWhatFits).observe(form.querySelector("#windows-group") ?? form, {childList: true, subtree: true});
    showWhatFits();
});
