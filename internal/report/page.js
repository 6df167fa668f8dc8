"use strict";
// The items of the page: an index of all of them, and their ways in packs that are
// unpacked when one of them is opened. What they hold is data of strangers: it
// becomes text nodes, never markup.
(() => {
  const PAGE = 50;
  const $ = (id) => document.getElementById(id);
  const packs = document.querySelectorAll("script.pack");

  async function unpack(node) {
    const bytes = Uint8Array.from(atob(node.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }
  const unpacked = new Map();
  function pack(n) {
    if (!unpacked.has(n)) {
      if (unpacked.size > 16) unpacked.delete(unpacked.keys().next().value);
      unpacked.set(n, unpack(packs[n]));
    }
    return unpacked.get(n);
  }

  // What steers the direction of text, or a terminal, is shown and not obeyed.
  const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  const named = (c) => "\u27e8U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u27e9";
  const plain = (s) => String(s).replace(steering, named);

  function make(tag, attributes, ...inside) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "class") node.className = value;
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value);
    }
    for (const child of inside.flat()) {
      if (child === null || child === undefined || child === "") continue;
      node.append(child instanceof Node ? child : plain(child));
    }
    return node;
  }
  const data = (s, tag) => make(tag || "bdi", { dir: "auto" }, s);
  const code = (s) => make("code", { dir: "ltr" }, s);

  // quote writes a word so that a shell reads exactly it, and the eye sees all of it.
  function quote(word) {
    if (/^[A-Za-z0-9_.,:\/@%+=-]+$/.test(word) && !word.startsWith("-")) return word;
    steering.lastIndex = 0;
    if (!/[\n\t]/.test(word) && !steering.test(word)) return "'" + word.replaceAll("'", "'\\''") + "'";
    steering.lastIndex = 0;
    const escaped = word.replace(/[\\']/g, "\\$&").replace(/[\n\t]/g, (c) => (c === "\n" ? "\\n" : "\\t"));
    return "$'" + escaped.replace(steering, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")) + "'";
  }
  function command(...words) {
    const text = ["penstock", ...words.map(quote)].join(" ");
    const shown = code(text);
    const button = make("button", {
      type: "button", "aria-label": "copy the command " + plain(text),
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text);
          button.textContent = "copied";
        } catch {
          getSelection().selectAllChildren(shown);
          button.textContent = "selected";
        }
      },
    }, "copy");
    return make("div", { class: "cmd" }, shown, button);
  }

  const ends = { not_started: "not started" };
  const endWord = (end) => ends[end] || end;
  const group = (n) => n.toLocaleString("en-US");
  const seconds = (from, to) => {
    const s = (Date.parse(to) - Date.parse(from)) / 1000;
    return s < 1 ? Math.round(s * 1000) + " ms" : s.toFixed(s < 10 ? 1 : 0) + " s";
  };
  const states = {
    run: "run", reused: "answered from staging", replayed: "answered by a cassette",
    decided: "decided by rules", refused: "refused before anything was executed",
  };
  const figure = (f) => (f === undefined ? "" : "figure " + f);

  function seen(list) {
    return (list || []).map((s) => make("li", {}, code(s.path), " is ", data(s.json, "code")));
  }
  function findings(list) {
    return (list || []).map((f) => make("li", {}, code(f.code || ""), " ", [f.triage, figure(f.figure)].filter(Boolean).join(", "),
      f.evidence ? [": ", data(f.evidence)] : ""));
  }
  function bullets(...lists) {
    const all = lists.flat();
    return all.length ? make("ul", {}, all) : "";
  }
  function visit(v) {
    const meta = [states[v.state] || v.state];
    if (v.pass > 1) meta.unshift("pass " + v.pass);
    if (v.model) meta.push(v.model);
    if (v.tokens) meta.push(group(v.tokens) + " tokens");
    if (v.usd !== undefined) meta.push("$" + v.usd.toPrecision(3));
    if (v.started_at && v.ended_at) meta.push(seconds(v.started_at, v.ended_at));
    const bad = v.failure;
    return make("li", { class: bad ? "visit bad" : "visit" },
      make("b", {}, data(v.stage)), ": ", bad ? code(bad.code) : data(v.outcome || "ok"),
      make("span", { class: "meta" }, data(meta.join(" · "))),
      bad && bad.message ? make("div", { class: "say" }, data(bad.message)) : "",
      v.rule ? make("div", {}, "by the rule ", data(v.rule)) : "",
      bullets(seen(v.seen), findings(v.findings)),
      v.output ? make("span", { class: "meta" }, "output ", code(v.output)) : "");
  }
  function condition(c) {
    if (c.on) return ["the outcome ", code(c.on)];
    if (c.fail) return c.fail === "any" ? ["any failure"] : ["the failure ", code(c.fail)];
    if (c.if) return [data(c.if, "code"), c.holds ? " holds" : " does not hold"];
    return [c.other];
  }
  function route(r) {
    const why = (r.under || []).map((c) => make("li", {}, condition(c)));
    return make("li", { class: "route" }, "\u2192 ", make("b", {}, data(r.to)), r.route ? [" by route ", data(r.route)] : "",
      r.at ? [" at ", code(r.at)] : "", bullets(why, seen(r.seen), findings(r.findings)));
  }
  function check(c) {
    const details = (c.details || []).map((d) => make("li", {}, d.at ? [code(d.at), " "] : "", data(d.why || "")));
    return make("tr", {},
      make("th", { scope: "row" }, data(c.name)),
      make("td", {}, c.state.replace("_", " ") + (c.shadow ? " (shadow)" : "")),
      make("td", { class: "n" }, c.figure === undefined ? "" : String(c.figure)),
      make("td", {}, c.code ? code(c.code) : ""),
      make("td", { class: "long" }, c.evidence ? data(c.evidence) : "", bullets(details)));
  }
  function table(list, caption) {
    const columns = ["check", "came to", "figure", "code", "evidence"].map((name) => make("th", { scope: "col" }, name));
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, columns)), make("tbody", {}, list.map(check))));
  }
  function checks(gate) {
    const list = gate.checks || [];
    const rest = list.filter((c) => c.state === "held" || c.state === "not_applicable");
    const bad = list.filter((c) => !rest.includes(c));
    return [
      make("h4", {}, "The gate"),
      gate.as ? make("p", {}, "recorded as ", code(gate.as), " by a route, without checks") : "",
      bad.length ? table(bad, "Checks that did not hold") : "",
      rest.length ? make("details", {}, make("summary", {}, rest.length + (rest.length === 1 ? " check" : " checks") + " held or did not apply"), table(rest, "Checks that held or did not apply")) : "",
      bullets(findings(gate.findings)),
    ];
  }
  const link = (key) => make("a", { href: "#item=" + encodeURIComponent(key) }, data(key));

  function way(it) {
    const stages = [...new Set(it.way.filter((s) => s.visit).map((s) => s.visit.stage))];
    return make("div", { class: "way" },
      (it.codes || []).map((c) => make("p", {}, code(c.code), c.meaning ? [": ", data(c.meaning)] : "")),
      it.reason ? make("p", { class: "say" }, data(it.reason)) : "",
      it.status ? make("p", {}, "status ", code(it.status)) : "",
      it.parent ? make("p", {}, "fanned out of ", link(it.parent)) : it.source ? make("p", { class: "soft" }, "from the source ", code(it.source)) : "",
      it.way.length ? make("ol", {}, it.way.map((s) => (s.visit ? visit(s.visit) : route(s.route)))) : make("p", { class: "soft" }, "No stage visited it."),
      it.gate ? checks(it.gate) : "",
      it.record ? make("p", {}, "the record ", code(it.record.id), it.record.evidence ? [", its evidence in ", code(it.record.evidence)] : "") : "",
      it.children ? [make("h4", {}, "Fanned out into"), make("ul", {}, it.children.map((key) => make("li", {}, link(key))))] : "",
      make("h4", {}, "Ask further"),
      command("why", it.item), command("show", it.item),
      stages.map((stage) => command("logs", stage + "[" + it.item + "]")));
  }

  let index, texts, found = [], first = 0;
  const place = new Map();

  function row(i) {
    const box = make("details", { class: "item" }, make("summary", {},
      data(index.keys[i]), make("span", { class: "badge end-" + index.end_words[index.ends[i]] }, endWord(index.end_words[index.ends[i]])),
      index.codes[i].map((c) => make("code", { class: "codes" }, index.code_words[c])),
      index.why[i] ? make("span", { class: "why" }, data(index.why[i])) : ""));
    box.addEventListener("toggle", async () => {
      if (!box.open || box.dataset.filled) return;
      box.dataset.filled = "1";
      try {
        box.append(way((await pack(1 + Math.floor(i / index.pack)))[i % index.pack]));
      } catch (e) {
        box.append(make("p", { class: "way" }, "This item cannot be shown: " + e.message));
      }
    });
    return box;
  }
  function draw() {
    const list = $("list");
    list.replaceChildren(...found.slice(first, first + PAGE).map(row));
    const last = Math.min(first + PAGE, found.length);
    $("where").textContent = found.length ? group(first + 1) + "\u2013" + group(last) + " of " + group(found.length) : "";
    $("prev").disabled = first === 0;
    $("next").disabled = last >= found.length;
  }
  function search() {
    const words = $("q").value.toLowerCase().split(/\s+/).filter(Boolean);
    const end = index.end_words.indexOf($("end").value), want = index.code_words.indexOf($("code").value);
    found = [];
    for (let i = 0; i < index.keys.length; i++) {
      if (end >= 0 && index.ends[i] !== end) continue;
      if (want >= 0 && !index.codes[i].includes(want)) continue;
      if (words.length && !words.every((w) => texts[i].includes(w))) continue;
      found.push(i);
    }
    first = 0;
    $("found").textContent = found.length === 1 ? "1 item" : group(found.length) + " items";
    draw();
  }
  // follow does what the address asks for: #item=KEY, or #end=WORD, #code=CODE, #q=TEXT.
  function follow() {
    const asked = location.hash.slice(1);
    if (!/^(item|end|code|q)=/.test(asked)) return;
    let value;
    try {
      value = decodeURIComponent(asked.slice(asked.indexOf("=") + 1));
    } catch {
      return;
    }
    const what = asked.slice(0, asked.indexOf("="));
    for (const id of ["q", "end", "code"]) $(id).value = what === id ? value : "";
    search();
    if (what === "item") {
      const i = place.get(value);
      if (i === undefined) {
        $("found").textContent = "No item of this page is called " + plain(value) + ".";
        return;
      }
      first = Math.floor(i / PAGE) * PAGE;
      draw();
      const box = $("list").children[i - first];
      box.open = true;
      box.firstChild.focus({ preventScroll: true });
      box.scrollIntoView({ block: "start" });
      return;
    }
    $("items").scrollIntoView();
  }
  async function start() {
    if (!packs.length) return;
    index = await pack(0);
    texts = index.keys.map((key, i) => [key, index.end_words[index.ends[i]], ...index.codes[i].map((c) => index.code_words[c]), index.why[i]].join(" ").toLowerCase());
    index.keys.forEach((key, i) => place.set(key, i));
    for (const word of index.end_words) $("end").append(make("option", { value: word }, endWord(word)));
    for (const word of index.code_words.slice().sort()) $("code").append(make("option", { value: word }, word));
    let soon;
    $("q").addEventListener("input", () => {
      clearTimeout(soon);
      soon = setTimeout(search, 120);
    });
    $("end").addEventListener("change", search);
    $("code").addEventListener("change", search);
    const turn = (by) => () => {
      first += by;
      draw();
      $("items").scrollIntoView();
    };
    $("prev").addEventListener("click", turn(-PAGE));
    $("next").addEventListener("click", turn(PAGE));
    addEventListener("hashchange", follow);
    addEventListener("beforeprint", () => document.querySelectorAll("details.code").forEach((d) => (d.open = true)));
    $("browser").hidden = false;
    search();
    follow();
  }
  start().catch((e) => {
    $("items").append(make("p", { class: "note" }, "The items cannot be shown here (" + e.message + "): a browser of 2023 or later can. penstock why ITEM prints the same for one of them."));
  });
})();
