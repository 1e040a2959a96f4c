/* The error browser: opened with its tab, and only then is anything unpacked. Everything from the data is set as text. */
(() => {
  const { byId, all, element, shown, count, counted, say } = Evidentia;
  if (!byId("errors-list")) return;
  const KINDS = ["missed", "false alert", "wrong K"];
  const WORDS = { missed: "Missed evidence", "false alert": "False alert", "wrong K": "Wrong K" };
  const MEANING = {
    gate: "the gate stopped the query", K: "ranked high enough, but too few sentences were returned", ranking: "ranked too deep to be returned", "below the first 10": "not among the first ten of its ranking", "retriever cut": "never ranked",
  };
  const KNOWN = new Set(["post_id", "criterion_id", "fold", "split", "has_evidence", "prob", "raw_prob", "detection_score", "tau", "tau_neg", "tau_pos", "state", "n_candidates", "gold_sent_uids", "ranked_sent_uids", "selected_sent_uids"]);
  const PER_PAGE = 50, FIRST = 20;
  const list = byId("errors-list"), detail = byId("errors-detail");
  let data = null, rows = [], left = [], page = 0, chosen = null, kind = "";

  // ---- a query as the page has it
  const cell = (row, name) => data.queries[name]?.[row.q] ?? "";
  const own = (object, key) => object && Object.hasOwn(object, key) ? object[key] : undefined; // an id may be "constructor"
  const number = (row, name) => { const text = cell(row, name); return text === "" ? null : Number(text); };
  const uids = (row, name) => { const text = cell(row, name); return text === "" ? [] : text.split("|"); };
  const score = (row) => number(row, "prob") ?? number(row, "detection_score");
  const passed = (row) => cell(row, "state") !== "" ? cell(row, "state") !== "NEG" : cell(row, "prob") === "" || number(row, "prob") >= (number(row, "tau") ?? 0.5);
  const best = (row) => row.best_k ?? (data.queries.selected_sent_uids && hasEvidence(row) && passed(row) ? uids(row, "selected_sent_uids").length : null);
  const hasEvidence = (row) => /^(1|1\.0|true)$/i.test(cell(row, "has_evidence").trim());
  const off = (row) => row.best_k === undefined ? 0 : Math.abs(uids(row, "selected_sent_uids").length - row.best_k);
  const marks = (row) => row.kinds.map((one) => element("span", { class: "errors-kind", data: { kind: one } }, WORDS[one] ?? one)).flatMap((one) => [one, " "]);
  const stages = (row) => [...new Set(Object.values(row.lost ?? {}))];

  // ---- order and filters
  const surprise = (row, of) => { const value = score(row) ?? 0; return of === "missed" ? value : -value; };
  const ORDERS = {
    worst: (a, b) => { const x = leading(a), y = leading(b); return KINDS.indexOf(x) - KINDS.indexOf(y) || surprise(a, x) - surprise(b, y) || a.q - b.q; },
    post: (a, b) => a.q - b.q,
    k: (a, b) => off(b) - off(a) || a.q - b.q,
  };
  const leading = (row) => kind || KINDS.find((one) => row.kinds.includes(one));
  const words = (row) => row.words ??= [cell(row, "post_id"), cell(row, "criterion_id"), ...(data.ids === "shown" ? [cell(row, "gold_sent_uids"), cell(row, "ranked_sent_uids")] : [])].join(" ").toLowerCase();
  const fits = (row, { criterion, stage, find }, of = kind) => (of === "" || row.kinds.includes(of)) && (criterion === "" || cell(row, "criterion_id") === data.criteria[criterion])
    && (stage === "" || stages(row).includes(stage)) && (find === "" || words(row).includes(find));
  const asked = () => ({ criterion: byId("errors-criterion").value, stage: byId("errors-stage").value, find: byId("errors-find").value.trim().toLowerCase() });
  const apply = ({ keep = false } = {}) => {
    const filters = asked();
    left = rows.filter((row) => fits(row, filters)).sort(ORDERS[byId("errors-order").value]);
    for (const button of all("button", byId("errors-kinds"))) {
      button.setAttribute("aria-pressed", String(button.dataset.kind === kind));
      button.lastChild.textContent = ` ${count(rows.filter((row) => fits(row, filters, button.dataset.kind)).length)}`;
    }
    byId("errors-count").textContent = left.length === rows.length ? counted(rows.length, "query", "queries") : `${count(left.length)} of ${counted(rows.length, "query", "queries")}`;
    say(byId("errors-count").textContent);
    const at = keep ? left.indexOf(chosen) : -1;
    turn(Math.floor(Math.max(at, 0) / PER_PAGE));
    choose(at >= 0 ? chosen : left[0] ?? null);
  };

  // ---- the list, a page at a time
  const option = (row) => {
    const lost = Object.keys(row.lost ?? {}).length, where = stages(row).join(", ");
    const why = [...(row.skipped ? [row.skipped] : []), ...(lost ? [`${count(lost)} of ${count(uids(row, "gold_sent_uids").length)} lost: ${where}`] : []), ...(row.best_k === undefined ? [] : [`K ${count(uids(row, "selected_sent_uids").length)}, best ${count(row.best_k)}`])];
    return element("div", { role: "option", class: "errors-row", tabindex: "-1", "aria-selected": "false", id: `errors-row-${row.q}`, data: { errorRow: row.q, kinds: row.kinds.join("|") } },
      element("span", { class: "errors-who" }, element("bdi", {}, cell(row, "criterion_id") || "query"), " ", element("bdi", {}, cell(row, "post_id"))), " ",
      element("span", { class: "errors-prob", data: { value: JSON.stringify(score(row)) } }, shown(score(row))), " ",
      element("span", { class: "errors-why" }, ...marks(row), " ", element("span", { class: "quiet" }, why.join("; "))));
  };
  const turn = (to) => {
    const pages = Math.max(Math.ceil(left.length / PER_PAGE), 1);
    page = Math.min(Math.max(to, 0), pages - 1);
    const here = left.slice(page * PER_PAGE, (page + 1) * PER_PAGE);
    list.replaceChildren(...here.map(option));
    list.scrollTop = 0;
    list.hidden = here.length === 0;
    byId("errors-none").hidden = here.length > 0;
    byId("errors-page").textContent = here.length ? `${count(page * PER_PAGE + 1)} to ${count(page * PER_PAGE + here.length)} of ${count(left.length)}` : "";
    byId("errors-previous").disabled = page === 0;
    byId("errors-next").disabled = page === pages - 1;
    mark();
  };
  const mark = () => {
    const options = all("[role=option]", list);
    const at = Math.max(options.findIndex((one) => Number(one.dataset.errorRow) === chosen?.q), 0);
    options.forEach((one, i) => { one.setAttribute("aria-selected", String(i === at && Number(one.dataset.errorRow) === chosen?.q)); one.tabIndex = i === at ? 0 : -1; });
  };
  const choose = (row, { focus = false } = {}) => {
    chosen = row;
    const at = left.indexOf(row);
    if (at >= 0 && Math.floor(at / PER_PAGE) !== page) turn(Math.floor(at / PER_PAGE)); else mark();
    show(row);
    const node = row && byId(`errors-row-${row.q}`);
    if (node && focus) { node.focus({ preventScroll: true }); node.scrollIntoView({ block: "nearest" }); }
  };

  // ---- one query
  const fact = (name, value, key) => element("div", {}, element("dt", {}, name), element("dd", { data: { fact: key ?? name } }, element("bdi", {}, value)));
  const place = (node, from, to = null) => { node.style.left = `${100 * from}%`; if (to !== null) node.style.width = `${100 * Math.max(to - from, 0)}%`; return node; };
  const scale = (row) => {
    const prob = number(row, "prob");
    if (prob === null || prob < 0 || prob > 1) return [];
    const tau = number(row, "tau"), low = number(row, "tau_neg") ?? tau, high = number(row, "tau_pos") ?? tau;
    if (low === null || high === null) return [];
    const cut = [0, low, high, 1].map((value) => Math.min(Math.max(value, 0), 1)), band = (state, i) => place(element("span", { class: "errors-band", data: { state } }), cut[i], cut[i + 1]);
    return [element("div", { class: "errors-scale", "aria-hidden": "true" }, ...["NEG", "UNCERTAIN", "POS"].map(band), place(element("span", { class: "errors-here" }), prob))];
  };
  const story = (row) => {
    const gold = uids(row, "gold_sent_uids").length, lost = Object.entries(row.lost ?? {}), state = cell(row, "state"), said = [];
    if (row.kinds.includes("missed")) {
      if (row.skipped) said.push(`The query has evidence, and ${row.skipped}${cell(row, "prob") === "" || row.skipped === "state NEG" ? "" : `: ${shown(number(row, "prob"))}`}.`);
      const by = Object.keys(MEANING).map((stage) => [stage, lost.filter(([, one]) => one === stage).length]).filter(([, n]) => n > 0);
      if (lost.length) said.push(`${count(lost.length)} of ${count(gold)} evidence ${gold === 1 ? "sentence was" : "sentences were"} not returned: ${by.map(([stage, n]) => stage === "gate" ? MEANING.gate : by.length > 1 ? `${count(n)} ${MEANING[stage]}` : MEANING[stage]).join("; ")}.`);
    }
    if (row.kinds.includes("false alert")) said.push(`The query has no evidence, but ${state === "POS" ? "raised an alert" : "was not skipped"}${cell(row, "prob") === "" ? "" : ` at probability ${shown(number(row, "prob"))}`}.`);
    if (row.kinds.includes("wrong K")) {
      const k = uids(row, "selected_sent_uids").length;
      said.push(row.best_k === 0 ? `${count(k)} ${k === 1 ? "sentence was" : "sentences were"} returned, but none of its evidence is ranked.` : `${count(k)} ${k === 1 ? "sentence was" : "sentences were"} returned; the first ${row.best_k === 1 ? "one" : count(row.best_k)} would have had the best F1.`);
    }
    return said.join(" ");
  };
  const facts = (row) => {
    const k = data.queries.selected_sent_uids ? count(uids(row, "selected_sent_uids").length) : "–", top = best(row);
    const named = [["probability", "prob"], ["probability before calibration", "raw_prob"], ["detection score", "detection_score"], ["threshold", "tau"], ["skipped below", "tau_neg"], ["alert from", "tau_pos"]];
    return element("dl", { class: "errors-facts" },
      ...named.filter(([, column]) => cell(row, column) !== "").map(([name, column]) => { const one = fact(name, shown(number(row, column)), column); one.lastChild.title = cell(row, column); return one; }),
      ...(cell(row, "state") === "" ? [] : [fact("state", cell(row, "state"), "state")]),
      fact("has evidence", hasEvidence(row) ? `yes, ${count(uids(row, "gold_sent_uids").length)}` : "no", "has_evidence"),
      fact("K chosen", k, "k"), fact("best K", top === null ? "–" : count(top), "best_k"),
      ...(cell(row, "n_candidates") === "" ? [] : [fact("candidates", shown(number(row, "n_candidates")), "n_candidates")]),
      ...["fold", ...Object.keys(data.queries).filter((column) => !KNOWN.has(column))].filter((column) => cell(row, column) !== "").map((column) => fact(column, cell(row, column))));
  };
  const sentence = (row, uid, rank, { gold, selected }) => {
    const lost = own(row.lost, uid), value = rank === null ? null : row.scores?.[rank - 1] ?? null, of = own(data.texts, cell(row, "post_id"));
    const attributes = { data: { sentence: uid, rank: rank ?? "", gold: gold.has(uid) ? 1 : 0, selected: selected.has(uid) ? 1 : 0, ...(lost ? { lost } : {}) } };
    const tick = (yes, name) => element("td", {}, ...(yes ? [element("span", { class: "errors-tick", "aria-hidden": "true" }, name === "gold" ? "★" : "✓"), element("span", { class: "sr" }, name)] : []));
    return element("tr", attributes, element("td", { class: "r", data: { value: JSON.stringify(rank) } }, rank === null ? "–" : count(rank)), element("th", { scope: "row" }, element("bdi", {}, uid)),
      ...(data.withTexts ? [element("td", { class: "errors-text" }, of && Object.hasOwn(of, uid) ? element("bdi", of[uid].length > 300 ? { tabindex: "0" } : {}, of[uid]) : element("span", { class: "quiet" }, "no text"))] : []),
      ...(row.scores ? [element("td", { class: "r", data: { value: JSON.stringify(value) } }, value === null ? "–" : Math.abs(value) < 1000 ? value.toFixed(4) : shown(value))] : []),
      tick(gold.has(uid), "gold"), tick(selected.has(uid), "selected"), element("td", {}, ...(lost ? [element("span", { class: "errors-kind", title: MEANING[lost] ?? "", data: { kind: "missed" } }, lost)] : [])));
  };
  const ranking = (row, whole) => {
    const ranked = uids(row, "ranked_sent_uids"), gold = new Set(uids(row, "gold_sent_uids")), selected = new Set(uids(row, "selected_sent_uids")), marked = { gold, selected };
    const columns = ["rank", "sentence", ...(data.withTexts ? ["text"] : []), ...(row.scores ? ["score"] : []), "gold", "selected", "lost at"], body = [];
    let hidden = 0;
    const gap = () => { if (hidden) body.push(element("tr", { class: "errors-gap" }, element("td", { colspan: columns.length }, `… ${count(hidden)} more`))); hidden = 0; };
    ranked.forEach((uid, i) => {
      if (whole || i < FIRST || ranked.length <= FIRST + 3 || gold.has(uid) || selected.has(uid)) { gap(); body.push(sentence(row, uid, i + 1, marked)); } else hidden++;
    });
    gap();
    const there = new Set(ranked), never = [...gold].filter((uid) => !there.has(uid));
    if (never.length && ranked.length) body.push(element("tr", { class: "errors-gap" }, element("td", { colspan: columns.length }, "evidence that was never ranked")));
    body.push(...never.map((uid) => sentence(row, uid, null, marked)));
    if (!body.length) return [element("p", { class: "quiet" }, "This result holds no ranking for the query.")];
    const table = element("table", { data: { table: "errors-ranking" } }, element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col", class: name === "rank" || name === "score" ? "r" : "" }, name)))), element("tbody", {}, ...body));
    const more = !whole && ranked.length > FIRST + 3 ? [element("p", { class: "tools" }, element("button", { type: "button", id: "errors-all" }, `Show all ${count(ranked.length)} sentences`))] : [];
    return [element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Ranked sentences" }, table), ...more];
  };
  const show = (row, whole = false) => {
    if (row === null) { detail.replaceChildren(element("p", { class: "quiet" }, "No query is chosen.")); delete detail.dataset.errorRow; return; }
    detail.dataset.errorRow = row.q;
    detail.replaceChildren(element("h3", {}, element("bdi", {}, cell(row, "post_id")), ...(cell(row, "criterion_id") === "" ? [] : [element("bdi", {}, cell(row, "criterion_id"))])), element("div", {}, ...marks(row)),
      element("p", { class: "errors-story" }, story(row)), ...scale(row), facts(row), element("h4", {}, "Ranked sentences"), ...ranking(row, whole));
    byId("errors-all")?.addEventListener("click", () => { show(row, true); detail.focus({ preventScroll: true }); });
  };

  // ---- opening
  const listen = () => {
    for (const id of ["errors-criterion", "errors-stage", "errors-order"]) byId(id).addEventListener("change", () => apply());
    byId("errors-find").addEventListener("input", () => apply());
    byId("errors-previous").addEventListener("click", () => { turn(page - 1); choose(left[page * PER_PAGE]); });
    byId("errors-next").addEventListener("click", () => { turn(page + 1); choose(left[page * PER_PAGE]); });
    list.addEventListener("click", (event) => {
      const node = event.target.closest("[data-error-row]");
      if (!node) return;
      choose(left.find((row) => row.q === Number(node.dataset.errorRow)), { focus: true });
      if (detail.offsetTop > list.offsetTop + 40) detail.scrollIntoView({ block: "start" }); // below the list where the screen is narrow
    });
    list.addEventListener("keydown", (event) => {
      const at = left.indexOf(chosen), to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: left.length - 1 }[event.key];
      if (event.key === "Enter") { event.preventDefault(); detail.focus(); return; }
      if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      choose(left[Math.min(Math.max(to, 0), left.length - 1)] ?? null, { focus: true });
    });
    byId("errors-csv").addEventListener("click", () => {
      const line = (row) => [cell(row, "post_id"), cell(row, "criterion_id"), row.kinds.join("; "), cell(row, "prob"), cell(row, "state"), uids(row, "selected_sent_uids").length, best(row) ?? "", Object.entries(row.lost ?? {}).map(([uid, stage]) => `${uid}: ${stage}`).join("; ")];
      const head = ["post_id", "criterion_id", "kinds", "prob", "state", "K", "best K", "lost"];
      Evidentia.download("errors.csv", [[head, ...left.map(line)].map((cells) => cells.map((one) => Evidentia.csvCell(String(one))).join(",")).join("\n"), "\n"], "text/csv");
    });
  };
  const fill = () => {
    const present = (name) => rows.some((row) => row.kinds.includes(name));
    byId("errors-kinds").append(...["", ...KINDS.filter(present)].map((name) => {
      const button = element("button", { type: "button", "aria-pressed": String(name === ""), data: { kind: name } }, name === "" ? "All" : WORDS[name], element("span", {}, ""));
      button.addEventListener("click", () => { kind = name; apply(); });
      return button;
    }));
    const held = new Set(rows.map((row) => cell(row, "criterion_id")));
    data.criteria = [...held].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    const cut = (name) => name.length > 60 ? `${name.slice(0, 58)}…` : name || "(none)";
    byId("errors-criterion").append(...data.criteria.map((name, i) => element("option", { value: i }, cut(name))));
    const lost = new Set(rows.flatMap(stages));
    byId("errors-stage").append(...Object.keys(MEANING).filter((stage) => lost.has(stage)).map((stage) => element("option", { value: stage }, stage)));
    byId("errors-stage-label").hidden = lost.size === 0;
  };
  let opened = null;
  const open = async () => {
    const content = await Evidentia.content();
    data = { queries: content.queries, texts: content.texts, withTexts: Object.keys(content.texts).length > 0, ids: content.ids };
    rows = content.errors.rows.map((row) => ({ ...row }));
    fill();
    listen();
    apply();
    list.removeAttribute("aria-busy");
    byId("errors").dataset.ready = "1";
  };
  document.addEventListener("evidentia:open", (event) => { if (event.detail === "errors") opened ??= open(); });
})();
