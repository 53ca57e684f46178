"use strict";
// Pictures as SVG: which addresses and banks the lanes of an access touch, and which lines differ.
const pictures = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const svg = (tag, attributes, ...children) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;
  const LANES = 32, SEGMENT = 128, BANKS = 32, WORD = 4;

  /** By how much the address of each lane differs from that of the first one, where it is known. */
  function offsets(access) {
    if (access.offsets) return access.offsets;
    if (access.stride === undefined || access.stride === null) return null;
    return Array.from({ length: LANES }, (_, lane) => access.stride * lane);
  }

  const titled = (shape, words) => {
    shape.append(svg("title", {}, words));
    return shape;
  };

  /** A picture with a sentence below it, which is also what a screen reader says. */
  function picture(kind, height, words, shapes) {
    const caption = svg("text", { x: 0, y: height + 12 }, words);
    return svg("svg", { class: `lanes ${kind}`, viewBox: `0 0 340 ${height + 16}`, width: "100%",
      role: "img", "aria-label": words }, ...shapes, caption);
  }

  /** Addresses by lane: a line for each segment of 128 bytes that is touched, a mark for each lane. */
  function byLane(access, at) {
    const width = 340, height = 74, left = 44;
    const low = Math.min(...at), high = Math.max(...at) + access.size;
    const start = Math.floor(low / SEGMENT) * SEGMENT, end = Math.ceil(high / SEGMENT) * SEGMENT;
    const y = (offset) => height - 4 - ((offset - start) * (height - 8)) / (end - start);
    const wide = (width - left) / at.length;
    const touched = new Set();
    for (const from of at) {
      const end = from + access.size;
      for (let of = Math.floor(from / SEGMENT); of * SEGMENT < end; of++) touched.add(of);
    }
    const boxes = [...touched].sort((a, b) => a - b).map((of) => svg("rect", { class: "segment touched",
      x: left, y: y((of + 1) * SEGMENT), width: width - left,
      height: Math.max(1, y(of * SEGMENT) - y((of + 1) * SEGMENT)) }));
    const marks = at.map((from, lane) => titled(svg("rect", { class: "lane", x: left + lane * wide,
      y: y(from + access.size), width: Math.max(1, wide - 1),
      height: Math.max(2, y(from) - y(from + access.size)) }),
    `lane ${lane}: ${from < 0 ? "-" : "+"}${Math.abs(from)} bytes`));
    const axis = [[end, 10], [start, height - 2]].map(([offset, at]) =>
      svg("text", { x: left - 4, y: at, "text-anchor": "end" }, String(offset)));
    return picture("by-lane", height, `${at.length} lanes by address: ` +
      `${counted(touched.size, "segment", "segments")} of 128 bytes if aligned`, [...boxes, ...axis, ...marks]);
  }

  /** Words of each bank that lanes which are served together ask for; one is no conflict. */
  function byBank(access, at) {
    const together = Math.max(1, Math.min(BANKS, Math.floor((BANKS * WORD) / access.size)));
    let worst = [], most = 0;
    for (let from = 0; from < at.length; from += together) {
      const words = new Set();
      for (const offset of at.slice(from, from + together)) {
        const end = offset + access.size;
        for (let word = Math.floor(offset / WORD); word * WORD < end; word++) words.add(word);
      }
      const banks = Array(BANKS).fill(0);
      for (const word of words) banks[((word % BANKS) + BANKS) % BANKS] += 1;
      if (Math.max(...banks) > most) [worst, most] = [banks, Math.max(...banks)];
    }
    const wide = 340 / BANKS, height = 40;
    const bars = worst.map((words, bank) => titled(svg("rect", {
      class: words > 1 ? "lane" : "segment touched", x: bank * wide + 1,
      y: height - (words * height) / most, width: wide - 2, height: (words * height) / most,
    }), `bank ${bank}: ${counted(words, "word", "words")}`));
    const words = most > 1 ? `${BANKS} banks: ${most} words of one bank, one after the other`
      : `${BANKS} banks: no two words of one bank`;
    const base = svg("line", { class: "base", x1: 0, x2: 340, y1: height, y2: height });
    return picture("by-bank", height, words, [base, ...bars]);
  }

  function of(access) {
    const at = offsets(access);
    return at ? [byLane(access, at), access.shared ? byBank(access, at) : null] : [];
  }

  /**
   * Which lines differ: a bar for each line, as high as it has instructions, in the colours of the
   * scopes. Long files have several lines in a bar. `go` is called with a line that is clicked.
   * @param rows of each line, in order, how many instructions differ at each scope
   */
  function map(rows, go) {
    const width = 340, height = 28, most = 170;
    const each = Math.max(1, Math.ceil(rows.length / most)), bars = [];
    for (let from = 0; from < rows.length; from += each) {
      const sum = [0, 0, 0, 0];
      for (const row of rows.slice(from, from + each)) {
        row.forEach((count, level) => { sum[level] += count; });
      }
      bars.push(sum);
    }
    const total = (bar) => bar.reduce((a, b) => a + b, 0);
    const highest = Math.max(1, ...bars.map(total)), wide = width / Math.max(1, bars.length);
    const shapes = bars.flatMap((bar, at) => {
      let y = height;
      return [3, 2, 1, 0].filter((level) => bar[level]).map((level) => {
        const high = (bar[level] * height) / highest;
        y -= high;
        const shape = svg("rect", { class: `m${level}`, x: at * wide, y,
          width: Math.max(0.5, wide - 0.3), height: high });
        const line = at * each + 1;
        return titled(shape, each > 1 ? `lines ${line} to ${line + each - 1}` : `line ${line}`);
      });
    });
    const differ = rows.filter((row) => row[3]).length;
    const code = rows.filter((row) => total(row)).length;
    const words = `${differ} of ${counted(code, "line", "lines")} with code differ between threads ` +
      "of a wave";
    const drawn = svg("svg", { class: "map", viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: "none", width: "100%", height, role: "img", "aria-label": words },
    titled(svg("g", {}, ...shapes), words));
    drawn.addEventListener("click", (event) => {
      const box = drawn.getBoundingClientRect();
      go(Math.min(rows.length - 1, Math.floor(((event.clientX - box.left) / box.width) * rows.length)));
    });
    return drawn;
  }

  return { counted, map, of };
})();
