"use strict";
// Draws the data of the page. All text becomes text nodes: none of it is read as markup.
(() => {
  const $ = (id) => document.getElementById(id);
  const data = (id) => JSON.parse($(id).textContent);
  const page = data("page");
  const SCOPE = ["the same for all threads", "one value for a workgroup",
    "one value for a wave, differs in a workgroup", "differs between threads of a wave"];
  const SKIP = ["all threads execute this block", "whole workgroups skip this block",
    "whole waves skip this block", "some threads of a wave skip this block"];
  let shown = null; // the function that is shown
  let current = -1; // its number
  let rowOfLine = new Map(); // row by line of the module
  let picked = null; // the row of which causes are shown

  const el = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "on") for (const [event, run] of Object.entries(value)) made.addEventListener(event, run);
      else if (value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  };
  const fill = (node, ...children) =>
    node.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
  /** A sentence; what stands between backquotes is code. */
  const words = (text) => text.split("`")
    .map((part, at) => (at % 2 ? el("code", {}, part) : part)).filter((part) => part !== "");
  const { counted } = pictures;

  // ---- the head -----------------------------------------------------------------------------
  $("file").textContent = page.file;
  $("about").textContent = [page.triple, page.compiled, page.judged].filter(Boolean).join(" · ");
  page.index.forEach((entry, number) => {
    const [errors, warnings] = entry.findings;
    const marks = [errors ? counted(errors, "error", "errors") : "",
      warnings ? counted(warnings, "warning", "warnings") : "",
      entry.kernel ? "kernel" : ""].filter(Boolean).join(", ");
    const text = marks ? `${entry.name} (${marks})` : entry.name;
    $("functions").append(el("option", { value: number }, text));
  });
  $("functions").addEventListener("change", (event) => show(Number(event.target.value)));

  // ---- one function -------------------------------------------------------------------------
  function show(number) {
    if (!(number in page.index)) return;
    current = number;
    shown = data(`f${number}`);
    picked = null;
    $("functions").value = String(number);
    location.replace(`#${encodeURIComponent(shown.symbol)}`);
    rowOfLine = new Map();
    shown.rows.forEach((row, at) => { if (row.n) rowOfLine.set(row.n, at); });
    fill($("summary"), ...shown.sentences.map((text) => el("p", {}, ...words(text))));
    drawCode();
    drawSource();
    drawChanges();
    drawFindings();
    drawMemory();
    drawLoops();
    drawGraph();
    fill($("why"), el("p", {}, "Choose a coloured line to see why it differs."),
      shown.without_chains
        ? el("p", {}, "The function is large: only branches have their causes here; " +
            "phalanx explain has those of values.") : null);
    tab(page.against ? "changes" : shown.findings.length ? "findings" : "why");
    search($("search").value);
  }

  function levelWords(row) { return (row.k === "b" ? SKIP : SCOPE)[row.l]; }
  function depends(row) {
    const of = (row.s || []).map((source) => page.sources[source][1]);
    return of.length ? `; depends on ${of.join(", ")}` : "";
  }

  const NAME = /%[-a-zA-Z$._0-9]+|%"[^"]*"/g;
  /** Text with a mark around each name of a value. */
  function withNames(text) {
    const parts = [];
    let from = 0;
    for (const found of text.matchAll(NAME)) {
      parts.push(text.slice(from, found.index));
      parts.push(el("span", { "data-name": found[0] }, found[0]));
      from = found.index + found[0].length;
    }
    parts.push(text.slice(from));
    return parts;
  }

  // One listener for all lines: a large function has ten thousand.
  const onLine = (run) => (event) => {
    const row = event.target.closest("#code > .row");
    if (row) run(Number(row.id.slice(1)), event);
  };
  $("code").addEventListener("click", onLine(pick));
  $("code").addEventListener("keydown", onLine((at, { key }) => { if (key === "Enter") pick(at); }));
  $("code").addEventListener("mouseover", onLine((at) => same(shown.rows[at].p)));
  $("code").addEventListener("mouseleave", () => same(null));

  function drawCode() {
    const code = $("code");
    const all = shown.rows.map((row, at) => {
      const title = `${levelWords(row)}${depends(row)}${row.x ? `; variable ${row.x}` : ""}`;
      const line = el("div", {
        class: `row l${row.l}${row.k === "b" ? " label" : ""}`, id: `r${at}`, title, tabindex: 0,
        role: "button",
      }, el("span", { class: "n" }, row.n ? String(row.n) : ""), el("span", { class: "g" }),
        el("span", {}, row.k === "i" || row.k === "t" ? "  " : "",
          ...withNames(row.k === "a" ? `argument ${row.t}` : row.t)));
      return line;
    });
    const levels = shown.rows.map((row) => counts(row.k === "b" || row.k === "a" ? [] : [row]));
    const hasSource = shown.rows.some((row) => row.p && page.files[row.p[0]].lines);
    fill(code, hasSource ? null : pictures.map(levels, reveal), ...all);
    code.scrollTop = 0;
  }

  /** How many rows differ at each scope. */
  const counts = (rows) => SCOPE.map((_, level) => rows.filter((row) => row.l === level).length);

  /** The files that rows of the function are of; most rows first. */
  function filesShown() {
    const count = new Map();
    for (const row of shown.rows) if (row.p) count.set(row.p[0], (count.get(row.p[0]) || 0) + 1);
    return [...count.keys()].sort((a, b) => count.get(b) - count.get(a) || a - b);
  }

  /** The earlier version takes the place of the source. */
  function drawEarlier() {
    const { rows, pairs } = shown.earlier;
    const partner = new Map(pairs);
    document.querySelector("main").classList.remove("no-source");
    fill($("source"), el("div", { class: "row label" }, `before: ${page.against}`),
      ...rows.map((row, at) => {
        const to = partner.get(at);
        const title = to === undefined ? "this line is gone" : levelWords(row) + depends(row);
        return el("div", {
          class: `row l${row.l}${row.k === "b" ? " label" : ""}${to === undefined ? " gone" : ""}`,
          id: `o${at}`, title, tabindex: to === undefined ? null : 0,
          on: { click: () => { if (to !== undefined) { pick(to); reveal(to); } },
            keydown: (event) => { if (event.key === "Enter" && to !== undefined) pick(to); } },
        }, el("span", { class: "n" }, row.n ? String(row.n) : ""), el("span", { class: "g" }),
          el("span", {}, row.k === "i" || row.k === "t" ? "  " : "", row.t));
      }));
  }

  /** Marks lines that are new or differ between other threads than before, and lists them. */
  function drawChanges() {
    $("tab-changes").hidden = !page.against;
    if (!shown.earlier) {
      fill($("changes"), page.against
        ? el("p", {}, `${page.against} has no function of this name.`) : null);
      return;
    }
    const { rows, pairs } = shown.earlier;
    const before = new Map(pairs.map(([from, to]) => [to, rows[from]]));
    const changed = [];
    shown.rows.forEach((row, at) => {
      const was = before.get(at);
      if (!was) $(`r${at}`).classList.add("new");
      else if (was.l !== row.l) {
        $(`r${at}`).classList.add("other");
        changed.push(el("li", {},
          el("button", { class: "go", on: { click: () => reveal(at) } }, el("code", {}, row.t)),
          `: ${levelWords(row)}; before: ${levelWords(was)}`));
      }
    });
    fill($("changes"), changed.length ? el("ul", {}, ...changed)
      : el("p", {}, "No line differs between other threads than before."));
    $("tab-changes").textContent = changed.length ? `Changes (${changed.length})` : "Changes";
  }

  function drawSource() {
    if (shown.earlier) { drawEarlier(); return; }
    const files = filesShown();
    document.querySelector("main").classList.toggle("no-source", files.length === 0);
    const parts = files.map((file) => {
      const { name, lines } = page.files[file];
      const level = new Map(), rowsOf = new Map();
      for (const row of shown.rows) {
        if (!row.p || row.p[0] !== file) continue;
        const known = level.get(row.p[1]) || 0;
        level.set(row.p[1], Math.max(known, row.l));
        rowsOf.set(row.p[1], [...(rowsOf.get(row.p[1]) || []), row]);
      }
      const head = el("div", { class: "row label" }, name);
      if (!lines) {
        return [head, el("p", {}, "The file is not at hand, or has changed since it was compiled.")];
      }
      const levels = lines.map((_, at) => counts(rowsOf.get(at + 1) || []));
      const go = (at) => $(`s${file}-${at + 1}`).scrollIntoView({ block: "center" });
      return [head, pictures.map(levels, go), ...lines.map((text, at) => {
        const line = at + 1;
        const known = level.has(line);
        return el("div", {
          class: `row${known ? ` l${level.get(line)}` : ""}`, id: `s${file}-${line}`,
          title: known ? SCOPE[level.get(line)] : "", tabindex: known ? 0 : null,
          on: { click: () => pickLine(file, line), mouseenter: () => same(known ? [file, line] : null),
            mouseleave: () => same(null),
            keydown: (event) => { if (event.key === "Enter") pickLine(file, line); } },
        }, el("span", { class: "n" }, String(line)), el("span", { class: "g" }), text);
      })];
    });
    fill($("source"), ...parts.flat());
    const first = shown.rows.find((row) => row.p && row.p[0] === files[0]);
    if (first) $(`s${first.p[0]}-${first.p[1]}`)?.scrollIntoView({ block: "center" });
  }

  /** Marks what is of one line of the program, on both sides. */
  function same(place) {
    document.querySelectorAll(".row.same").forEach((row) => row.classList.remove("same"));
    if (!place) return;
    $(`s${place[0]}-${place[1]}`)?.classList.add("same");
    shown.rows.forEach((row, at) => {
      if (row.p && row.p[0] === place[0] && row.p[1] === place[1]) $(`r${at}`).classList.add("same");
    });
  }

  function pickLine(file, line) {
    const of = shown.rows.map((row, at) => [row, at])
      .filter(([row]) => row.p && row.p[0] === file && row.p[1] === line);
    // A branch says more than what it is computed from.
    of.sort(([a], [b]) => b.l - a.l || (b.k === "t") - (a.k === "t"));
    if (of.length) pick(of[0][1]);
  }

  function clearMarks() {
    document.querySelectorAll(".row.picked").forEach((row) => row.classList.remove("picked"));
    document.querySelectorAll(".mention").forEach((name) => name.classList.remove("mention"));
    document.querySelectorAll(".row .g").forEach((gutter) => gutter.replaceChildren());
  }

  /** Shows why a line differs: lights up its name, numbers the lines of the chain. */
  function pick(at) {
    clearMarks();
    picked = at;
    const row = shown.rows[at];
    const line = $(`r${at}`);
    line.classList.add("picked");
    line.scrollIntoView({ block: "nearest" });
    if (row.p) {
      const source = $(`s${row.p[0]}-${row.p[1]}`);
      source?.classList.add("picked");
      source?.scrollIntoView({ block: "nearest" });
    }
    if (row.v) {
      document.querySelectorAll(`#code [data-name=${CSS.escape(row.v)}]`)
        .forEach((name) => name.classList.add("mention"));
    }
    const chain = (row.c || []).map((number) => shown.steps[number]);
    chain.forEach((step, number) => {
      const of = step.f ? undefined : rowOfLine.get(step.n);
      if (of !== undefined) $(`r${of}`).querySelector(".g")
        .replaceChildren(el("span", { class: "badge" }, String(number + 1)));
    });
    const steps = chain.map((step) => {
      const of = step.f ? undefined : rowOfLine.get(step.n);
      const text = step.f ? `in ${step.f}: ${step.t}` : step.t;
      return el("li", {}, ...(of === undefined ? words(text)
        : [el("button", { class: "go", on: { click: () => reveal(of) } }, ...words(text))]));
    });
    fill($("why"), 
      el("p", {}, el("code", {}, row.t)),
      el("p", {}, row.x ? el("span", {}, `Variable `, el("b", {}, row.x), ": ") : null,
        ...words(levelWords(row) + depends(row) + ".")),
      steps.length ? el("ol", {}, ...steps) : null,
      !steps.length && row.l > 0 && shown.without_chains
        ? el("p", {}, "Its causes are left out in this large function.") : null);
    tab("why");
  }

  function reveal(at) {
    const line = $(`r${at}`);
    line.scrollIntoView({ block: "center" });
    line.focus({ preventScroll: true });
    const { p } = shown.rows[at];
    if (p) $(`s${p[0]}-${p[1]}`)?.scrollIntoView({ block: "center" });
  }
  const atLine = (line, text) => rowOfLine.has(line)
    ? el("button", { class: "go", on: { click: () => reveal(rowOfLine.get(line)) } }, ...words(text))
    : el("span", {}, ...words(text));

  // ---- panels -------------------------------------------------------------------------------
  function placeWords(location) {
    const source = location.source;
    return source ? `${source.file}:${source.line}` : `line ${location.ir.line} of the IR`;
  }

  /** A change of the source after which the finding is gone. */
  function fixOf(finding) {
    const lines = (finding.changes || []).flatMap(({ line, old, new: now }) => [
      el("div", { class: "row label" }, old.length ? `line ${line}` : `before line ${line}`),
      ...old.map((text) => el("div", { class: "row minus" }, `- ${text}`)),
      ...now.map((text) => el("div", { class: "row plus" }, `+ ${text}`))]);
    return el("div", { class: "fix" },
      el("p", {}, "Fix: ", ...words(finding.fix.message), "; with this change the finding is gone."),
      ...lines);
  }

  function drawFindings() {
    const cards = shown.findings.map((finding) => {
      const reasons = finding.reasons.map((reason) => el("li", {},
        atLine(reason.location.ir.line, `${placeWords(reason.location)}: ${reason.message}`)));
      return el("div", { class: "card" },
        el("h3", { class: finding.level }, finding.level, ": ", ...words(finding.message)),
        el("p", {}, atLine(finding.location.ir.line, placeWords(finding.location)),
          ` · ${finding.code} ${finding.rule}`),
        finding.label ? el("p", {}, ...words(finding.label)) : null,
        reasons.length ? el("ol", {}, ...reasons) : null,
        finding.fix ? fixOf(finding) : null,
        ...finding.help.map((help) => el("p", {}, "Help: ", ...words(help))));
    });
    fill($("findings"), ...(cards.length ? cards
      : [el("p", {}, "Nothing was found here. For the whole module: ", page.judged)]));
    $("tab-findings").textContent = cards.length ? `Findings (${cards.length})` : "Findings";
    for (const finding of shown.findings) {
      const row = rowOfLine.get(finding.location.ir.line);
      if (row !== undefined) $(`r${row}`).classList.add("found");
      const source = finding.location.source;
      if (!source) continue;
      const file = page.files.findIndex((known) => known.name === source.file);
      const line = $(`s${file}-${source.line}`);
      line?.append(el("span", { class: finding.level }, `   ${finding.level}: ${finding.message}`));
    }
  }

  function cost(access) {
    if (access.bank_degree) return access.bank_degree;
    if (access.pattern === "gather") return access.segments || 32;
    return access.segments || 0;
  }

  function drawMemory() {
    const order = [...shown.accesses].sort((a, b) => cost(b) - cost(a));
    const cards = order.map((access) => el("div", { class: "card" },
      el("p", {}, atLine(access.place.line, access.text)),
      el("p", {}, [`${access.pattern}`,
        access.stride ? `${access.stride} bytes from lane to lane` : "",
        access.segments ? `at most ${counted(access.segments, "segment", "segments")} of 128 bytes` : "",
        access.bank_degree > 1 ? `${access.bank_degree} words of one bank at once` : ""]
        .filter(Boolean).join(" · ")),
      ...pictures.of(access)));
    const loads = shown.loads.map((load) => el("li", {}, atLine(load.place.line, load.name), ": ",
      load.classes.length ? `may be ${load.classes.join(", ")}`
        : load.refusals.map((refusal) => refusal.sentence).join("; ")));
    fill($("memory"), 
      el("h3", {}, "Accesses, the most expensive first"), ...cards,
      cards.length ? null : el("p", {}, "There are no accesses of memory."),
      ...(loads.length ? [el("h3", {}, "Loads that may take a cheaper way, and why others may not"),
        el("ul", {}, ...loads)] : []));
  }

  function drawLoops() {
    const labels = new Map(shown.rows.map((row, at) => [row.k === "b" ? row.v : null, at]));
    const cards = shown.cycles.map((cycle) => {
      const header = cycle.header.startsWith("%") ? cycle.header : `%${cycle.header}`;
      const at = labels.get(header);
      const first = at === undefined ? null : shown.rows.slice(at).find((row) => row.p);
      const where = first ? ` at ${page.files[first.p[0]].name}:${first.p[1]}` : "";
      const text = `${"in a loop, ".repeat(Math.max(0, cycle.depth - 1))}loop with header ${header}${where}`;
      return el("div", { class: `card ${cycle.divergent_exit || cycle.assumed_divergent ? "l3" : ""}` },
        el("p", {}, at === undefined ? text
          : el("button", { class: "go", on: { click: () => reveal(at) } }, text)),
        el("p", {}, cycle.divergent_exit ? "Threads of a wave leave it in different rounds."
          : cycle.assumed_divergent ? "Nothing is known of how threads meet in it."
            : "All threads of a wave leave it in the same round."),
        cycle.reducible ? null : el("p", {}, "It has several entries."));
    });
    fill($("loops"), ...(cards.length ? cards : [el("p", {}, "There is no loop.")]));
  }

  function drawGraph() {
    const graph = $("graph");
    if (!shown.picture) {
      fill(graph, el("p", {}, shown.no_picture || "There is no graph."));
      return;
    }
    const parsed = new DOMParser().parseFromString(shown.picture, "image/svg+xml").documentElement;
    fill(graph,
      el("p", {}, "Colour: which threads may skip a block, or take an edge. Heavy border: the " +
        "header of a loop. Round corners: threads that parted join again."),
      document.importNode(parsed, true));
    const labels = shown.rows.map((row, at) => (row.k === "b" ? at : -1)).filter((at) => at >= 0);
    graph.querySelectorAll("[data-node]").forEach((node) => {
      const at = labels[Number(node.getAttribute("data-node"))];
      node.addEventListener("click", () => { reveal(at); });
    });
  }

  function tab(name) {
    for (const button of document.querySelectorAll("[role=tab]")) {
      const chosen = button.getAttribute("aria-controls") === name;
      button.setAttribute("aria-selected", String(chosen));
      $(button.getAttribute("aria-controls")).hidden = !chosen;
    }
  }
  document.querySelectorAll("[role=tab]").forEach((button) =>
    button.addEventListener("click", () => tab(button.getAttribute("aria-controls"))));

  // ---- search and keys ----------------------------------------------------------------------
  let hits = [], hit = -1;
  function search(text) {
    document.querySelectorAll(".hit").forEach((row) => row.classList.remove("hit"));
    const wanted = text.trim().toLowerCase();
    hits = !wanted ? [] : shown.rows.map((row, at) => [row, at])
      .filter(([row]) => row.t.toLowerCase().includes(wanted) ||
        (row.x || "").toLowerCase().includes(wanted)).map(([, at]) => at);
    hit = -1;
    hits.forEach((at) => $(`r${at}`).classList.add("hit"));
    $("hits").textContent = wanted ? counted(hits.length, "line", "lines") : "";
  }
  $("search").addEventListener("input", (event) => search(event.target.value));
  $("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && hits.length) {
      hit = (hit + 1) % hits.length;
      $(`r${hits[hit]}`).scrollIntoView({ block: "center" });
      $("hits").textContent = `${hit + 1} of ${hits.length}`;
    }
    if (event.key === "Escape") { event.target.value = ""; search(""); event.target.blur(); }
  });

  /** To the next line that differs most, in a direction. */
  function step(direction) {
    const most = Math.max(0, ...shown.rows.map((row) => row.l));
    const differ = shown.rows.map((row, at) => [row, at])
      .filter(([row]) => row.l === most && row.l > 0 && row.k !== "b").map(([, at]) => at);
    if (!differ.length) return;
    const from = picked ?? (direction > 0 ? -1 : shown.rows.length);
    const next = direction > 0 ? differ.find((at) => at > from) ?? differ[0]
      : [...differ].reverse().find((at) => at < from) ?? differ[differ.length - 1];
    pick(next);
  }
  let finding = -1;
  function stepFinding(direction) {
    if (!shown.findings.length) return;
    finding = (finding + direction + shown.findings.length) % shown.findings.length;
    tab("findings");
    const row = rowOfLine.get(shown.findings[finding].location.ir.line);
    if (row !== undefined) reveal(row);
  }
  const toggleHelp = () => {
    const help = $("help");
    help.hidden = !help.hidden;
    $("keys").setAttribute("aria-expanded", String(!help.hidden));
  };
  $("next").addEventListener("click", () => step(1));
  $("keys").addEventListener("click", toggleHelp);
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      n: () => step(1), p: () => step(-1), f: () => stepFinding(1), F: () => stepFinding(-1),
      "[": () => show(current - 1), "]": () => show(current + 1), "?": toggleHelp,
      "/": () => { event.preventDefault(); $("search").focus(); },
      Escape: () => { clearMarks(); picked = null; },
    };
    keys[event.key]?.();
  });

  // ---- begin --------------------------------------------------------------------------------
  const wanted = decodeURIComponent(location.hash.slice(1));
  const symbols = page.index.map((_, number) => number);
  let first = wanted ? symbols.find((number) => data(`f${number}`).symbol === wanted) : undefined;
  // Where something was found, or else a kernel.
  first ??= symbols.find((number) => page.index[number].findings[0] + page.index[number].findings[1]);
  first ??= symbols.find((number) => page.index[number].kernel) ?? 0;
  if (page.index.length) show(first);
  else $("summary").textContent = "There is no function with a body.";
})();
