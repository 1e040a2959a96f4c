/* The operating-point explorer. At the run's own share of evidence every value is one of the result's; nothing is estimated here. */
if (document.getElementById("explorer-root")) (() => {
  const { byId, all, element, shown, count, limits, perThousand } = Evidentia;
  const start = JSON.parse(byId("explorer-start").textContent);
  const root = byId("explorer-root"), skip = byId("tau-neg"), alert = byId("tau-pos"), share = byId("prevalence"), percent = byId("prevalence-percent");
  const positives = start.positives, negatives = start.queries - positives, own = positives / start.queries;
  const NAMES = ["sensitivity", "alert_precision", "fn_per_1000", "alerts_per_1000", "neg_rate"];
  const short = (value) => String(Number(value.toPrecision(4)));
  const inPercent = (value) => short(100 * value);
  const span = (values, write = short) => values.length === 1 ? write(values[0]) : `${write(values[0])} to ${write(values.at(-1))}`;
  const json = JSON.stringify;
  let screening = [], alerts = [], shares = [];
  const state = { neg: 0, pos: 0, prevalence: own, deployed: start.deployed !== null, moved: false };

  // ---- a point: its counts, and its numbers as the result has them
  const number = (row, name) => ({ value: row[name], low: row[`${name}_low`] ?? null, high: row[`${name}_high`] ?? null, flaw: null });
  const chosen = () => {
    const below = screening[state.neg], above = alerts[state.pos];
    const numbers = Object.fromEntries(NAMES.map((name) => [name, number(name in below ? below : above, name)]));
    return { skipped: below.skipped, missed: below.missed, alerts: above.alerts, right: above.right, numbers, ratio: number(above, "likelihood_ratio") };
  };
  const deployed = () => {
    const row = start.tau_pos.length === 1 ? alerts.find(({ tau }) => tau === start.tau_pos[0]) : undefined;
    return { ...start.deployed, ratio: row && row.alerts === start.deployed.alerts && row.right === start.deployed.right ? number(row, "likelihood_ratio") : null };
  };

  // ---- the same point where another share of queries has evidence
  const atShare = (ratio, p) => { const odds = p / (1 - p) * ratio; return odds / (1 + odds); };
  const precisionAt = (ratio, tpr, fpr, p) => {
    if (tpr + fpr === 0) return { value: null, low: null, high: null };
    if (fpr === 0) return { value: 1, low: null, high: null }; // the ratio has no bound: every alert was right
    const { value, low, high } = ratio ?? { value: tpr / fpr, low: null, high: null };
    return { value: atShare(value, p), low: low === null ? null : atShare(low, p), high: high !== null ? atShare(high, p) : low === null ? null : 1 };
  };
  const readings = (point, p) => {
    const n = point.numbers, per = (value) => ({ value, low: null, high: null, flaw: null });
    if (p === own) {
      const raised = n.alerts_per_1000.value;
      return { numbers: n, skipped: 1000 * n.neg_rate.value, careful: 1000 * ((start.queries - point.skipped - point.alerts) / start.queries), alerts: raised, right: point.alerts ? raised * n.alert_precision.value : 0, missed: n.fn_per_1000.value };
    }
    const tpr = point.right / positives, fpr = (point.alerts - point.right) / negatives;
    const neg = p * (point.missed / positives) + (1 - p) * ((point.skipped - point.missed) / negatives);
    const raised = 1000 * (p * tpr + (1 - p) * fpr), missed = 1000 * p * point.missed / positives;
    const precision = { ...precisionAt(point.ratio, tpr, fpr, p), flaw: null };
    return {
      numbers: { sensitivity: n.sensitivity, alert_precision: precision, fn_per_1000: per(missed), alerts_per_1000: per(raised), neg_rate: per(neg) },
      skipped: 1000 * neg, careful: Math.max(1000 - 1000 * neg - raised, 0), alerts: raised, right: 1000 * p * tpr, missed,
    };
  };

  // ---- numbers
  const put = (node, value, text) => { node.textContent = text; node.dataset.value = json(value); };
  const showNumber = (name, now, before) => {
    const node = document.querySelector(`[data-explorer="${name}"]`), { value, low, high, flaw } = now;
    put(node, value, shown(value));
    Object.assign(node.dataset, { low: json(low), high: json(high) });
    const line = document.querySelector(`[data-explorer-interval="${name}"]`);
    if (flaw) line.replaceChildren(element("span", { class: "mark bad" }, `a convention: ${flaw}`));
    else if (low !== null && high !== null) line.textContent = limits([low, high]);
    else line.replaceChildren(element("span", { class: "quiet" }, value === null ? (name === "alert_precision" ? "no alerts" : "undefined") : "no interval"));
    document.querySelector(`[data-explorer-deployed="${name}"]`).textContent = before ? `as deployed ${shown(before.value)}` : "";
  };
  const words = (now) => {
    const part = (name, kind) => element("b", { class: kind, data: { workload: name, value: json(now[name]) } }, perThousand(now[name]));
    return ["Of 1,000 queries, ", part("skipped", "neg"), " are skipped, ", part("careful", "unc"), " need a careful look, ", part("alerts", "pos"), " raise an alert",
      ...(now.alerts > 0 ? [", ", part("right", "pos"), " of them rightly"] : []), "; ", part("missed", "missed"), ` with evidence ${perThousand(now.missed) === "1.0" ? "is" : "are"} skipped and so missed.`];
  };
  const showConfusion = (point, now) => {
    const rows = { NEG: [point.missed, point.skipped, now.skipped], POS: [point.right, point.alerts, now.alerts] };
    rows.UNCERTAIN = [positives - point.missed - point.right, start.queries - point.skipped - point.alerts, now.careful];
    rows.all = [positives, start.queries, 1000];
    for (const [name, [held, whole, per]] of Object.entries(rows)) {
      const cells = { with: [held, count(held)], without: [whole - held, count(whole - held)], all: [whole, count(whole)], per_1000: [per, perThousand(per)] };
      for (const [part, [value, text]] of Object.entries(cells)) put(document.querySelector(`[data-confusion="${name} ${part}"]`), value, text);
    }
    byId("explorer-per-1000").textContent = state.prevalence === own ? "of 1,000" : `of 1,000 at ${inPercent(state.prevalence)} %`;
  };

  // ---- what the sliders say
  const among = { one: "", fold: ", each fold at its own threshold", query: ", differing between queries" }[start.spread];
  const place = (input) => `${100 * Number(input.value) / Math.max(Number(input.max), 1)}%`;
  const showSlider = (input, index, tau, taus, told) => {
    input.value = index;
    input.style.setProperty("--at", place(input));
    const text = state.deployed && taus.length ? span(taus) : state.deployed ? "as deployed" : short(tau);
    byId(`${input.id}-value`).textContent = text;
    input.setAttribute("aria-valuetext", `${state.deployed ? "as deployed, " : ""}${text}: ${told}`);
  };
  const mark = (input, at, title) => {
    const made = element("span", { title });
    made.style.setProperty("--at", at / Math.max(Number(input.max), 1));
    byId(`${input.id}-marks`).append(made);
  };
  const nearest = (rows, tau) => rows.reduce((best, row, i) => Math.abs(row.tau - tau) < Math.abs(rows[best].tau - tau) ? i : best, 0);
  const middle = (values) => values[values.length >> 1];

  // ---- drawings that follow
  const live = (target, spec, data) => {
    const role = target.getAttribute("role"), label = target.getAttribute("aria-label"); // the library writes its own over them
    let made = null, key = "", busy = false, again = false;
    const update = async () => {
      again = true;
      if (busy || target.offsetParent === null) return;
      busy = true;
      try {
        while (again) {
          again = false;
          const wanted = `${document.documentElement.dataset.mode} ${target.clientWidth}`;
          if (wanted !== key) {
            made?.finalize();
            made = await Evidentia.embed(target, spec(target.clientWidth));
            key = wanted;
            target.setAttribute("role", role);
            target.setAttribute("aria-label", label);
            target.removeAttribute("aria-roledescription");
            target.querySelector("svg")?.setAttribute("aria-hidden", "true");
          }
          for (const [name, values] of Object.entries(data())) made.view.data(name, values);
          await made.view.runAsync();
        }
      } catch (error) {
        target.textContent = "This figure cannot be drawn here; its numbers stand beside it.";
        console.error(error);
      } finally { busy = false; }
    };
    return update;
  };
  const dots = byId("explorer-dots");
  const drawDots = () => Evidentia.waffle(dots);

  const CURVES = ["screening sensitivity", "alert precision"];
  const precisionRow = (row) => state.prevalence === own ? number(row, "alert_precision") : precisionAt(number(row, "likelihood_ratio"), row.tpr, row.fpr, state.prevalence);
  const curve = () => [
    ...screening.map((row) => ({ tau: row.tau, of: CURVES[0], ...number(row, "sensitivity") })),
    ...alerts.map((row) => ({ tau: row.tau, of: CURVES[1], ...precisionRow(row) })),
  ].filter(({ value }) => value !== null);
  const set = () => {
    const at = (rows, index, taus) => state.deployed ? taus.map((tau) => rows[nearest(rows, tau)]) : [rows[index]];
    return [
      ...at(screening, state.neg, start.tau_neg).map((row) => ({ tau: row.tau, of: CURVES[0], ...number(row, "sensitivity") })),
      ...at(alerts, state.pos, start.tau_pos).map((row) => ({ tau: row.tau, of: CURVES[1], ...precisionRow(row) })),
    ].filter(({ value }) => value !== null);
  };
  const drawLines = live(byId("explorer-lines"), () => {
    const x = { field: "tau", type: "quantitative", title: "Threshold (square-root scale)", scale: { type: "sqrt", domain: [0, 1] }, axis: { values: [0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1], format: "~g", labelOverlap: true, grid: false } };
    const y = (field) => ({ field, type: "quantitative", title: null, scale: { domain: [0, 1] } });
    const color = { field: "of", type: "nominal", scale: { domain: CURVES, range: ["--accent", "--pos"].map(Evidentia.colour) }, legend: { title: null, orient: "top", symbolType: "stroke", symbolOpacity: 1, symbolStrokeWidth: 3 } };
    const tooltip = [{ field: "of", type: "nominal", title: "measure" }, { field: "tau", type: "quantitative", title: "threshold", format: ".4f" }, ...["value", "low", "high"].map((field) => ({ field, type: "quantitative", format: ".4f" }))];
    return {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json", width: "container", height: 210,
      layer: [
        { data: { name: "curve", values: curve() }, transform: [{ filter: "datum.low !== null && datum.high !== null" }], mark: { type: "area", opacity: 0.2 }, encoding: { x, y: y("low"), y2: { field: "high" }, color } },
        { data: { name: "curve" }, mark: { type: "line", strokeWidth: 2 }, encoding: { x, y: y("value"), color } },
        { data: { name: "set", values: set() }, mark: { type: "rule", strokeDash: [3, 3], opacity: 0.7 }, encoding: { x, color } },
        { data: { name: "set" }, mark: { type: "point", filled: true, size: 90, opacity: 1, stroke: Evidentia.colour("--card"), strokeWidth: 1.5 }, encoding: { x, y: y("value"), color, tooltip } },
      ],
    };
  }, () => ({ curve: curve(), set: set() }));

  // ---- everything at once; drawings follow when the browser paints
  let frame = 0, telling = 0;
  const draw = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(() => { drawDots(); drawLines(); }); };
  const update = ({ tell = true } = {}) => {
    const point = state.deployed ? deployed() : chosen(), now = readings(point, state.prevalence), elsewhere = state.prevalence !== own;
    const before = !state.deployed && start.deployed ? readings(deployed(), state.prevalence).numbers : null;
    for (const name of NAMES) showNumber(name, now.numbers[name], before?.[name]);
    byId("explorer-words").replaceChildren(...words(now));
    Object.assign(dots.dataset, { neg: now.skipped, unc: now.careful, alerts: now.alerts, right: now.right, missed: now.missed });
    showConfusion(point, now);
    showSlider(skip, state.neg, screening[state.neg].tau, start.tau_neg, `${perThousand(now.skipped)} of 1,000 skipped`);
    showSlider(alert, state.pos, alerts[state.pos].tau, start.tau_pos, `${perThousand(now.alerts)} of 1,000 raise an alert`);
    share.value = nearest(shares, state.prevalence);
    share.style.setProperty("--at", place(share));
    share.setAttribute("aria-valuetext", `${inPercent(state.prevalence)} percent${elsewhere ? "" : ", as in this run"}`);
    if (document.activeElement !== percent && Number(percent.value) / 100 !== state.prevalence) percent.value = inPercent(state.prevalence);
    Object.assign(root.dataset, { state: state.deployed ? "deployed" : "exploring", tauNeg: json(state.deployed ? start.tau_neg : screening[state.neg].tau), tauPos: json(state.deployed ? start.tau_pos : alerts[state.pos].tau), prevalence: json(state.prevalence) });
    byId("explorer-deployed").setAttribute("aria-pressed", String(state.deployed));
    byId("explorer-prevalence-own")?.setAttribute("aria-pressed", String(!elsewhere));
    byId("explorer-state").textContent = state.deployed ? `As deployed${among}` : state.moved ? "Exploring: one threshold for all queries" : `${start.tau_neg.length ? "The deployed gate was not evaluated" : "No deployed gate"}: thresholds to start from`;
    byId("explorer-state").className = state.deployed ? "pill" : "pill exploring";
    showShare(elsewhere, now.numbers.alert_precision);
    warn();
    draw();
    clearTimeout(telling);
    if (tell) telling = setTimeout(() => Evidentia.say(byId("explorer-words").textContent), 700);
  };
  const showShare = (elsewhere, precision) => {
    const note = byId("explorer-prevalence-note");
    note.hidden = !elsewhere;
    if (!elsewhere) return;
    const how = precision.value === null ? "There are no alerts" : precision.low !== null ? "Alert precision and its limits follow from the likelihood ratio of an alert" : "Alert precision follows from the likelihood ratio of an alert, here without an interval";
    note.replaceChildren(element("strong", {}, `At ${inPercent(state.prevalence)} % instead of this run's ${inPercent(own)} %. `),
      `${how}. Alerts and missed queries per 1,000 and the share skipped are carried over without an interval. Sensitivity does not depend on the share. All this holds if queries with evidence are at your site like those of this run, and queries without it too.`);
  };
  const warn = () => {
    const box = byId("explorer-warning"), wanted = state.moved && !state.deployed;
    if (!wanted) { box.replaceChildren(); return; }
    if (box.childElementCount) return;
    const button = element("button", { type: "button", class: "plain", id: "explorer-copy" }, "Copy the command");
    button.addEventListener("click", async () => { await Evidentia.copy(start.command); button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy the command"; }, 2000); });
    box.append(element("div", { class: "note warning" },
      element("p", {}, element("strong", {}, "This is exploration, not tuning. "), "A threshold picked here was picked on evaluation data, so its numbers flatter it. Choose thresholds on TUNE rows, then evaluate with them."),
      ...(start.tunable ? [] : [element("p", {}, "This run has no TUNE rows; the command needs a run that has them.")]),
      element("p", {}, element("code", { id: "explorer-command" }, start.command)), button));
  };

  // ---- the reader moves something
  const explore = (changes) => { Object.assign(state, changes, { deployed: false, moved: true }); update(); };
  const mostBelow = (neg, pos) => { while (neg > 0 && screening[neg].tau > alerts[pos].tau) neg--; return neg; }; // tau_neg <= tau_pos
  skip.addEventListener("input", () => {
    const neg = Number(skip.value), least = alerts.findIndex(({ tau }) => tau >= screening[neg].tau);
    const pos = Math.max(state.pos, least < 0 ? alerts.length - 1 : least);
    explore({ neg: mostBelow(neg, pos), pos });
  });
  alert.addEventListener("input", () => explore({ neg: mostBelow(state.neg, Number(alert.value)), pos: Number(alert.value) }));
  byId("explorer-deployed").addEventListener("click", () => { begin(); update(); });
  const setShare = (prevalence) => { if (positives > 0 && negatives > 0) { state.prevalence = prevalence; update(); } };
  share.addEventListener("input", () => setShare(shares[Number(share.value)].tau));
  percent.addEventListener("input", () => {
    const typed = Number(percent.value), fine = percent.value !== "" && typed > 0 && typed < 100;
    percent.setAttribute("aria-invalid", String(!fine));
    if (fine) setShare(percent.value === inPercent(own) ? own : typed / 100);
  });
  percent.addEventListener("change", () => {
    if (percent.getAttribute("aria-invalid") === "true") percent.value = inPercent(state.prevalence);
    percent.setAttribute("aria-invalid", "false");
  });
  byId("explorer-prevalence-own")?.addEventListener("click", () => setShare(own));

  // ---- where it starts
  const begin = () => {
    const neg = start.tau_neg.length ? nearest(screening, middle(start.tau_neg)) : 0;
    const pos = start.tau_pos.length ? nearest(alerts, middle(start.tau_pos)) : nearest(alerts, 0.5);
    Object.assign(state, { neg: mostBelow(neg, pos), pos, deployed: start.deployed !== null, moved: false });
  };
  const prevalences = () => {
    const listed = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, ...Array.from({ length: 18 }, (_, i) => 1 + i / 2), ...Array.from({ length: 81 }, (_, i) => 10 + i)];
    return [...listed.map((one) => one / 100), own].sort((a, b) => a - b).map((tau) => ({ tau }));
  };
  const objects = ({ columns, rows }) => rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i]])));
  let ready = null;
  const prepare = async () => {
    const { figures } = await Evidentia.content();
    [screening, alerts] = ["operating_screening", "operating_alerts"].map((name) => objects(figures.find((figure) => figure.name === name)));
    shares = prevalences();
    for (const [input, rows] of [[skip, screening], [alert, alerts], [share, shares]]) { input.max = rows.length - 1; input.disabled = false; }
    share.disabled = percent.disabled = positives === 0 || negatives === 0;
    for (const [input, rows, taus] of [[skip, screening, start.tau_neg], [alert, alerts, start.tau_pos]]) {
      for (const tau of taus) mark(input, nearest(rows, tau), `deployed: ${short(tau)}`);
      byId(`${input.id}-deployed`).textContent = taus.length ? `Deployed: ${span(taus)}${start.spread === "fold" && taus.length > 1 ? ` (${start.folds} folds)` : ""}.` : "";
    }
    if (byId("prevalence-own")) { byId("prevalence-own").textContent = `${inPercent(own)} %`; mark(share, nearest(shares, own), `this run: ${inPercent(own)} %`); }
    begin();
    root.setAttribute("aria-busy", "false");
    root.dataset.ready = "true";
  };
  const openPanel = async () => { await (ready ??= prepare()); update({ tell: false }); };
  document.addEventListener("evidentia:open", (event) => { if (event.detail === "explorer") openPanel(); });
  document.addEventListener("evidentia:mode", () => { if (root.dataset.ready) draw(); });
  addEventListener("resize", () => { if (root.dataset.ready) draw(); });
})();
