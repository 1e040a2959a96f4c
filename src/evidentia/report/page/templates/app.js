"use strict";
/* What every page does: tabs, dark mode, figures, sortable tables, exports. No statistics: numbers come from the result. */
const Evidentia = (() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const parsed = (id) => JSON.parse(byId(id).textContent);
  const say = (words) => { byId("say").textContent = words; };
  document.documentElement.classList.add("js");

  // ---- the result that the page carries
  let carried = null;
  const inflate = async (id) => {
    const bytes = Uint8Array.from(atob(byId(id).textContent.trim()), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const content = () => carried ??= inflate("evidentia-content").then(JSON.parse);
  let numbers = null;
  const summary = async () => numbers ??= JSON.parse((await content()).summary);

  // ---- numbers, with the digits that the page's own tables have
  const grouped = (digits) => digits.replace(/^(-?)(\d+)/, (_, sign, whole) => sign + whole.replace(/\B(?=(\d{3})+$)/g, ","));
  const shown = (value) => {
    if (value === null || value === undefined) return "–";
    if (typeof value === "string") return value;
    if (Number.isInteger(value) && Math.abs(value) > 1) return grouped(String(value));
    return grouped(value.toFixed(Math.abs(value) >= 10 ? 2 : 4));
  };
  const count = (value) => grouped(String(value));
  const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;
  const limits = (ci) => ci ? `${shown(ci[0])} to ${shown(ci[1])}` : "no interval";
  const perThousand = (value) => value >= 10 || value === 0 ? grouped(value.toFixed(0)) : value < 0.05 ? "fewer than 0.1" : value.toFixed(1);

  const element = (tag, properties = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === "class") made.className = value; else if (name === "data") Object.assign(made.dataset, value); else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  };

  // ---- tabs
  const tabs = all("[role=tab]");
  const open = (tab, { focus = false, remember = true } = {}) => {
    for (const one of tabs) {
      const chosen = one === tab;
      one.setAttribute("aria-selected", String(chosen));
      one.tabIndex = chosen ? 0 : -1;
      byId(one.getAttribute("aria-controls")).classList.toggle("open", chosen);
    }
    if (focus) tab.focus();
    tab.scrollIntoView({ inline: "nearest", block: "nearest" });
    if (remember) history.replaceState(null, "", `#${tab.getAttribute("aria-controls")}`);
    draw();
    document.dispatchEvent(new CustomEvent("evidentia:open", { detail: tab.getAttribute("aria-controls") }));
  };
  for (const tab of tabs) {
    tab.addEventListener("click", () => { open(tab); scrollTo({ top: 0 }); });
    tab.addEventListener("keydown", (event) => {
      const at = tabs.indexOf(tab);
      const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      open(tabs[(next + tabs.length) % tabs.length], { focus: true });
    });
  }

  // ---- dark mode: the reader's system decides until the reader does
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  let decided = false, printing = false;
  const setMode = (dark) => {
    root.dataset.mode = dark ? "dark" : "light";
    byId("mode").setAttribute("aria-pressed", String(dark));
    byId("mode").textContent = dark ? "light mode" : "dark mode";
    draw();
    document.dispatchEvent(new CustomEvent("evidentia:mode"));
  };
  byId("mode").addEventListener("click", () => { decided = true; setMode(root.dataset.mode !== "dark"); });
  prefersDark.addEventListener("change", (event) => { if (!decided && !printing) setMode(event.matches); });

  // ---- figures
  const specs = parsed("evidentia-specs");
  const views = new Map();
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const config = () => JSON.parse(byId("evidentia-theme").textContent.replaceAll('"INK"', JSON.stringify(colour("--ink"))).replaceAll('"FAINT"', JSON.stringify(colour("--line"))));
  let library = null; // a third of the size when packed; nothing on the first screen but its picture waits for it
  const vegaReady = () => library ??= inflate("evidentia-vega").then((text) => { document.head.append(element("script", {}, text)); });
  const lit = (spec) => root.dataset.mode !== "dark" || printing ? spec : JSON.parse(JSON.stringify(spec).replaceAll('"#0072b2"', '"#5bb3ea"')); // this blue is dim on black
  const embed = async (target, spec) => (await vegaReady(), vegaEmbed)(target, { ...lit(slim(fitted(spec))), config: { ...lit(config()), ...(innerWidth < SMALL && !printing ? { legend: { ...config().legend, columns: 1 } } : {}) }, ...(printing ? { width: spec.width === "container" ? 620 : spec.width } : {}) },
    { actions: false, renderer: "svg", tooltip: { theme: root.dataset.mode === "dark" ? "dark" : "light" } });
  // ---- on a phone panels stand below each other and shrink to its width
  const SMALL = 640;
  const fitted = (spec) => {
    if (innerWidth >= SMALL || printing) return spec;
    const { hconcat, concat, columns, facet, width, ...rest } = spec;
    if (typeof width === "number" && width === spec.height) return { ...spec, width: Math.min(width, innerWidth - 125), height: Math.min(width, innerWidth - 125) };
    const named = width === "container" && rest.encoding?.y?.type === "nominal" ? rest.encoding.y.field : null;
    if (named && rest.data.values.some((row) => String(row[named]).length > 20)) return { ...spec, width: 230 }; // its box scrolls
    const inner = spec.spec ? { spec: fitted(spec.spec) } : {};
    const facets = facet ? { facet: facet.column ? { row: facet.column } : facet, ...(facet.column ? {} : { columns: 1 }) } : {};
    const size = width === undefined ? {} : { width: typeof width === "number" ? Math.min(width, innerWidth - 165) : width };
    return { ...rest, ...inner, ...facets, ...size, ...(hconcat ?? concat ? { vconcat: (hconcat ?? concat).map(fitted) } : {}), ...(spec.vconcat ? { vconcat: spec.vconcat.map(fitted) } : {}) };
  };
  const halves = (words) => {
    const spaces = [...words.matchAll(/ /g)].map(({ index }) => index), middle = words.length / 2;
    if (!spaces.length) return words;
    const at = spaces.reduce((best, one) => Math.abs(one - middle) < Math.abs(best - middle) ? one : best);
    return [words.slice(0, at), words.slice(at + 1)];
  };
  const slim = (spec) => innerWidth >= SMALL || printing ? spec : JSON.parse(JSON.stringify(spec).replaceAll(/"columns":\d+/g, '"columns":1').replaceAll(/"title":"([^"\\]{26,})"/g, (_, words) => `"title":${JSON.stringify(halves(words))}`)); // legends below each other, titles on two lines
  const visible = (node) => node.offsetParent !== null;
  const near = (node) => { const box = node.getBoundingClientRect(); return box.top < innerHeight + 400 && box.bottom > -400; };
  const look = () => printing ? "print" : root.dataset.mode;
  const drawings = new Map(), busy = new Set(); // by target: what was drawn there last, and whether something is at work
  const reachable = (target) => target.scrollWidth > target.clientWidth ? target.setAttribute("tabindex", "0") : target.removeAttribute("tabindex"); // keys scroll it too
  const embedInto = async (target) => {
    const name = target.dataset.figure, words = target.getAttribute("aria-label");
    drawings.get(target)?.finalize();
    drawings.delete(target);
    try {
      const made = await embed(target, specs[name]);
      drawings.set(target, made);
      target.setAttribute("role", "img"); // vega writes its own over them
      target.setAttribute("aria-label", words);
      target.removeAttribute("aria-roledescription");
      views.set(name, made.view);
      target.querySelector("svg")?.setAttribute("aria-hidden", "true");
      reachable(target);
      edge(target);
    } catch (error) {
      target.textContent = "This figure cannot be drawn here; its data are below.";
      console.error(error);
    }
  };
  const drawOne = async (target) => {
    target.dataset.wanted = look();
    if (busy.has(target)) return; // one at a time; what is asked for meanwhile comes next
    busy.add(target);
    while (target.dataset.drawn !== target.dataset.wanted) {
      const now = target.dataset.wanted;
      await embedInto(target);
      target.dataset.drawn = now;
    }
    busy.delete(target);
  };
  const draw = () => { for (const target of all("[data-figure]")) if (printing || (visible(target) && near(target))) drawOne(target); };
  addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  addEventListener("resize", () => requestAnimationFrame(() => { draw(); edges(); for (const target of drawings.keys()) reachable(target); }));

  // ---- tables say on which side there is more of them, and names break only before what is put behind them
  const edge = (box) => {
    box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 1);
    box.classList.toggle("past", box.scrollLeft > 1);
  };
  const edges = () => all("section.open :is(.scroll, .drawing)").forEach(edge);
  const FOLDS = /(?<=\w)(?=[(@[])|(?<=[,=])(?=\w)/;
  const foldable = (root) => { for (const name of all("tbody :is(th, td) > bdi", root)) if (name.childElementCount === 0 && FOLDS.test(name.textContent)) name.replaceChildren(...name.textContent.split(FOLDS).flatMap((part, i) => i ? [element("wbr"), part] : [part])); };
  document.addEventListener("scroll", (event) => { if (event.target.matches?.(".scroll, .drawing")) edge(event.target); }, { capture: true, passive: true });
  new MutationObserver((changes) => { for (const { target } of changes) foldable(target); requestAnimationFrame(edges); }).observe(byId("main"), { childList: true, subtree: true });
  document.addEventListener("evidentia:open", edges);

  // ---- on paper: every figure, also of tabs that were never opened, light, and as wide as the paper
  let onScreen = "light";
  const forPaper = (on) => {
    if (on === printing) return;
    if (on) onScreen = root.dataset.mode;
    printing = on;
    root.dataset.mode = on ? "light" : onScreen;
    draw();
  };
  addEventListener("beforeprint", () => forPaper(true));
  addEventListener("afterprint", () => forPaper(false));
  matchMedia("print").addEventListener("change", (event) => forPaper(event.matches));
  addEventListener("load", () => (window.requestIdleCallback ?? setTimeout)(vegaReady)); // paper waits for nothing

  // ---- the data of a figure, one click away
  for (const box of all("[data-rows]")) box.parentElement.addEventListener("toggle", () => {
    if (box.childElementCount) return;
    const name = box.dataset.rows, rows = specs[name].data.values, columns = Object.keys(rows[0] ?? {});
    const whole = new Set(columns.filter((column) => rows.every((row) => row[column] === null || Number.isInteger(row[column])))); // counts
    const cell = (value, column) => typeof value === "number" ? element("td", { class: "r", data: { value: JSON.stringify(value) } }, whole.has(column) ? count(value) : shown(value)) : element("td", {}, element("bdi", {}, shown(value).replace(/\u00a0$/, ""))); // see figure.py
    const head = columns.map((column) => element("th", { scope: "col", "aria-sort": "none" }, element("button", { type: "button", class: "sort" }, column)));
    const table = element("table", { data: { table: `figure-${name}` } }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows.map((row) => element("tr", {}, ...columns.map((column) => cell(row[column], column))))));
    box.append(element("p", { class: "tools" }, element("button", { type: "button", data: { csv: `figure-${name}` } }, "CSV")), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Data of ${name}` }, table));
  });

  // ---- a thousand queries as squares, coloured by the style sheet
  const shares = (parts, total) => {
    const exact = parts.map((part) => part * total / parts.reduce((a, b) => a + b, 0));
    const whole = exact.map(Math.floor);
    const order = exact.map((value, i) => [value - whole[i], i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    for (let left = total - whole.reduce((a, b) => a + b, 0), i = 0; i < left; i++) whole[order[i][1]]++;
    return whole;
  };
  const KINDS = { neg: "skipped", missed: "skipped, with evidence (missed)", unc: "needs a careful look", pos: "right alert", false: "false alert" };
  const DOWN = 20;
  const svg = (tag, properties, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const waffle = (target) => {
    const [neg, unc, alerts, right, missed] = ["neg", "unc", "alerts", "right", "missed"].map((key) => Number(target.dataset[key]));
    const counts = shares([Math.max(neg - missed, 0), missed, unc, right, Math.max(alerts - right, 0)], 1000);
    let at = 0;
    const square = () => svg("rect", { x: Math.floor(at / DOWN), y: at++ % DOWN, width: 0.78, height: 0.78 });
    const groups = Object.entries(KINDS).map(([kind, words], i) => svg("g", { class: kind }, svg("title", {}, words), ...Array.from({ length: counts[i] }, square)));
    const legend = Object.entries(KINDS).map(([kind, words]) => element("li", {}, element("span", { class: `swatch ${kind}` }), words));
    target.replaceChildren(element("ul", { class: "legend", "aria-hidden": "true" }, ...legend), svg("svg", { viewBox: `0 0 ${1000 / DOWN} ${DOWN}`, "aria-hidden": "true" }, ...groups));
  };

  // ---- tables: sort, filter, CSV
  const NOTHING = ["", "–", "no interval", "None", "null"]; // how a cell says that there is no value
  const written = (text) => NOTHING.includes(text) ? "" : text;
  const cellValue = (row, at) => {
    const cell = row.cells[at];
    if (!cell) return "";
    const carrier = cell.dataset.value !== undefined ? cell : cell.querySelector("[data-value]");
    if (!carrier) return written(cell.textContent.trim());
    const value = JSON.parse(written(carrier.dataset.value) || "null");
    return Array.isArray(value) ? value[0] : value;
  };
  const compare = (a, b) => {
    if (a === "" || a === null) return b === "" || b === null ? 0 : 1;
    if (b === "" || b === null) return -1;
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  const sortBy = (table, head) => {
    const at = head.cellIndex, down = head.getAttribute("aria-sort") === "ascending";
    for (const one of all("th[aria-sort]", table)) one.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    for (const body of table.tBodies) {
      const fixed = all("tr.family", body);
      const rows = [...body.rows].filter((row) => !row.classList.contains("family"));
      const keyed = rows.map((row) => [cellValue(row, at), row]);
      const missing = (value) => value === "" || value === null;
      keyed.sort(([a], [b]) => missing(a) || missing(b) ? compare(a, b) : (down ? -1 : 1) * compare(a, b));
      body.append(...fixed, ...keyed.map(([, row]) => row));
    }
    say(`sorted by ${head.textContent}, ${down ? "descending" : "ascending"}`);
  };
  const filter = (table, words) => {
    const wanted = words.trim().toLowerCase();
    let left = 0;
    for (const body of table.tBodies) {
      let here = 0;
      for (const row of body.rows) {
        if (row.classList.contains("family")) continue;
        row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
        if (!row.hidden) here++;
      }
      for (const head of all("tr.family", body)) head.hidden = here === 0;
      left += here;
    }
    say(counted(left, "row"));
    return left;
  };
  const csvCell = (text) => {
    const safe = /^'*[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const csvOf = (table) => {
    const head = all("thead th", table).map((cell) => cell.textContent.trim());
    const body = all("tbody tr:not(.family)", table).filter((row) => !row.hidden);
    const cells = (row) => [...row.cells].map((cell) => {
      if (cell.dataset.value !== undefined) return written(cell.dataset.value);
      const spans = all("[data-value]", cell);
      return spans.length ? spans.map((span) => written(span.dataset.value)).join(" ± ") : written(cell.textContent.trim().replaceAll(/\s+/g, " "));
    });
    return [head, ...body.map(cells)].map((row) => row.map((cell) => csvCell(String(cell))).join(",")).join("\n") + "\n";
  };
  const download = (name, parts, type) => {
    const link = element("a", { download: name, href: URL.createObjectURL(new Blob(parts, { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say(`${name} saved`);
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const { csv, svg, png } = button.dataset;
    if (button.classList.contains("sort")) sortBy(button.closest("table"), button.closest("th"));
    else if (csv) download(`${csv}.csv`, [csvOf(document.querySelector(`[data-table="${CSS.escape(csv)}"]`))], "text/csv");
    else if (svg && views.has(svg)) download(`${svg}.svg`, [await views.get(svg).toSVG()], "image/svg+xml");
    else if (png && views.has(png)) {
      const image = await (await views.get(png).toCanvas(2));
      image.toBlob((blob) => download(`${png}.png`, [blob], "image/png"));
    }
  });
  document.addEventListener("input", (event) => {
    const of = event.target.dataset?.filter;
    if (of) filter(document.querySelector(`[data-table="${CSS.escape(of)}"]`), event.target.value);
  });

  // ---- the table of all numbers, also by group
  const numberRow = (name, entry) => {
    const num = (field, text) => element("span", { class: "num", data: { of: name, field, value: JSON.stringify(entry[field]) } }, text);
    const folds = entry.fold_mean === null ? [] : [num("fold_mean", shown(entry.fold_mean)), ...(entry.fold_std === null ? [] : [" ± ", num("fold_std", shown(entry.fold_std))])];
    const marks = [...(entry.degenerate ? [element("span", { class: "mark bad" }, `a convention: ${entry.degenerate}`)] : []), ...entry.warnings.map((words) => element("span", { class: "mark warn" }, words))];
    const row = element("tr", entry.degenerate ? { class: "degenerate" } : {},
      element("th", { scope: "row" }, element("bdi", { title: entry.definition }, name)),
      element("td", { class: "r", data: { value: JSON.stringify(entry.value) } }, num("value", shown(entry.value))),
      element("td", { class: "r" }, entry.ci ? num("ci", limits(entry.ci)) : element("span", { class: "quiet" }, "no interval")),
      element("td", { class: "r" }, ...folds), element("td", {}, entry.population),
      element("td", { class: "r", data: { value: String(entry.n) } }, num("n", count(entry.n))),
      element("td", { class: "meaning" }, `${entry.meaning} `, ...marks));
    return row;
  };
  const table = document.querySelector('[data-table="numbers"]');
  if (table && byId("number-group")) {
    const whole = [...table.tBodies];
    const update = () => { byId("number-count").textContent = `${count(filter(table, byId("number-filter").value))} numbers`; };
    byId("number-filter").addEventListener("input", update);
    byId("number-group").addEventListener("change", async (event) => {
      const column = event.target.value, { measures } = await summary();
      if (event.target.value !== column) return; // another one was chosen meanwhile
      const group = (name) => name.includes("[") ? name.slice(name.indexOf("[") + 1) : "";
      const found = () => Object.entries(measures).filter(([name]) => group(name).startsWith(`${column}=`)).map(([name, entry]) => numberRow(name, entry));
      const bodies = column === "" ? whole : [element("tbody", {}, ...found())];
      for (const body of [...table.tBodies]) body.remove();
      table.append(...bodies);
      update();
    });
    update();
  }
  const giveSummary = async () => download("summary.json", [(await content()).summary], "application/json");
  for (const id of ["get-summary", "get-summary-2"]) byId(id)?.addEventListener("click", giveSummary);
  byId("get-queries")?.addEventListener("click", async () => {
    const { queries } = await content(), names = Object.keys(queries);
    const rows = queries[names[0]].map((_, i) => names.map((name) => csvCell(String(queries[name][i]))).join(","));
    download("per_query.csv", [[names.map(csvCell).join(","), ...rows].join("\n"), "\n"], "text/csv");
  });
  const copy = async (text) => {
    try { await navigator.clipboard.writeText(text); } catch { const box = element("textarea", {}, text); document.body.append(box); box.select(); document.execCommand("copy"); box.remove(); }
    say("copied");
  };
  byId("copy-command")?.addEventListener("click", () => copy(byId("command").textContent));

  const start = () => {
    const asked = tabs.find((tab) => `#${tab.getAttribute("aria-controls")}` === location.hash);
    setMode(prefersDark.matches);
    foldable(document);
    all("[data-waffle]").forEach(waffle);
    if (tabs.length) open(asked ?? tabs[0], { remember: false });
  };
  return { all, byId, content, summary, shown, count, counted, limits, perThousand, element, embed, colour, waffle, download, csvCell, copy, say, start, open, tabs, draw };
})();
addEventListener("DOMContentLoaded", Evidentia.start);
