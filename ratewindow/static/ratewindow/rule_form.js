/* The form of a rule: shows what goes with the choices made, and says what is wrong with a field once it is left.
   Without this script every field is visible, and the server says the same when the rule is saved. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector("[name=applies_to]")?.form;
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
        for (const part of form.querySelectorAll("[data-rw-when]")) {
            part.hidden = !holds(part.dataset.rwWhen);
            const text = form.querySelector(`label[for="id_pattern"]`)?.firstChild;
            if (text?.nodeType === Node.TEXT_NODE && part.dataset.rwLabel && !part.hidden)
                text.data = part.dataset.rwLabel + (text.data.includes(":") ? ":" : "");
        }
        for (const input of form.querySelectorAll("[data-rw-lists]")) {
            const list = document.getElementById(`rw-${input.name}-${value(input.dataset.rwLists)}`);
            input.setAttribute("list", list?.id ?? "");
            input.classList.toggle("rw-offers", list !== null);
            input.placeholder = list ? input.dataset.rwChoose : "";
        }
        for (const choice of form.querySelectorAll(".rw-choice > select")) {
            const other = choice.parentElement.querySelector(".rw-other");
            other.hidden = other.querySelector("input").disabled = choice.value !== "other";
        }
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

    // What is wrong is said of the fields that were left, once the server has read the whole form.
    const left = new Map(); // by name, the place where it is said
    const SAID_BEFORE = ".errorlist:not(.nonfield, .nonform), td div.text-red-600"; // by the server; the latter under Unfold
    let asked = 0;
    async function validate() {
        const number = ++asked;
        const address = form.querySelector("[data-rw-validate]").dataset.rwValidate;
        const answer = await fetch(address, {method: "POST", body: new FormData(form)});
        if (!answer.ok || number !== asked) return; // a later question has the newer answer
        const {errors} = await answer.json();
        for (const [name, said] of left) say(name, said, errors[name] ?? []);
        if (!Object.keys(errors).length) sayThatAllIsRight();
    }
    // Of the whole form some themes say it in another way. What is wrong with no field in particular stays until it is saved.
    function sayThatAllIsRight() {
        for (const said of form.querySelectorAll("#windows-group :is(.errorlist, .errornote)")) said.remove();
        if (form.querySelector(".errorlist.nonfield, p.errornote ~ div.errornote, p.errornote + .errorlist > li, .alert-dismissible")) return;
        for (const note of form.querySelectorAll("p.errornote, :scope > .alert-danger")) note.remove();
    }
    function say(name, said, messages) {
        said.replaceChildren(...messages.map((message) => Object.assign(document.createElement("p"), {textContent: message})));
        for (const list of cellOf(said).querySelectorAll(SAID_BEFORE)) list.remove();
        if (!messages.length) for (const each of [rowOf(said), cellOf(said)]) each.classList.remove("errors", "grp-errors");
        for (const input of form.querySelectorAll(`[name="${name}"], [name="${name}_other"]`)) {
            if (messages.length) input.setAttribute("aria-invalid", "true");
            else input.removeAttribute("aria-invalid");
        }
    }
    function leave(input) {
        const name = input.name.replace(/_other$/, "");
        if (!left.has(name)) left.set(name, placeFor(input));
    }
    function placeFor(input) {
        const said = Object.assign(document.createElement("div"), {className: "rw-said"});
        said.setAttribute("aria-live", "polite");
        cellOf(input).append(said);
        return said;
    }

    function changed(event) {
        showWhatFits();
        if (event.target.matches(".rw-choice > select") && event.target.value === "other")
            return event.target.parentElement.querySelector(".rw-other input").focus(); // nothing is typed yet
        if (!event.target.name || event.target.form !== form || event.target.type === "hidden") return;
        if (!form.querySelector("[data-rw-validate]")) return; // a form that is no rule's
        leave(event.target);
        validate().catch(() => {}); // without an answer, the server says it when the rule is saved
    }

    for (const list of form.querySelectorAll(SAID_BEFORE)) {
        const input = list.closest(".form-row, .form-group, td, .grp-td")?.querySelector("[name]:not([type=hidden])");
        if (input) leave(input);
    }
    form.addEventListener("change", changed);
    form.addEventListener("click", ({target}) => target.matches(".rw-offers:enabled") && target.showPicker?.());
    // Some themes put widgets of jQuery over selects, whose events only that copy of jQuery hears.
    for (const jQuery of new Set([window.jQuery, window.django?.jQuery].filter(Boolean)))
        jQuery(form).on("change", (event) => event.originalEvent || changed(event));
    new MutationObserver(showWhatFits).observe(form.querySelector("#windows-group") ?? form, {childList: true, subtree: true});
    showWhatFits();
});
