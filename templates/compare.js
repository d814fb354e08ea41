// Compares any two runs from their run.json, by the rules of the prepared comparisons (package compare): the same ratios,
// intervals and verdicts. The page is complete without it.
(() => {
  'use strict';
  const margin = 0.10, minRepeats = 3;

  // Facts as text, by key, as the prepared pages have them.
  const text = (v) => (v === null || v === undefined ? '' : v === true ? 'yes' : v === false ? 'no' : Array.isArray(v) ? v.join(', ') : String(v));
  const facts = (run) => {
    const out = new Map();
    const add = (key, v) => { if (text(v) !== '') out.set(key, text(v)); };
    for (const table of ['hardware', 'engine', 'model', 'server', 'host']) for (const [k, v] of Object.entries(run[table])) add(`${table}.${k}`, v);
    for (const k of ['contexts', 'concurrency', 'prefill', 'duration_s', 'output_tokens', 'prompts', 'start', 'repeats', 'temperature', 'endpoint', 'prompt_sizing', 'dropped_fields']) {
      add(`method.${k}`, run.method[k]);
    }
    add('tool.version', `${run.tool.name} ${run.tool.version}`.trim());
    add('tool.method', run.tool.method);
    add('tool.preset', run.tool.preset);
    add('capacity.tokens', run.capacity.tokens);
    add('capacity.limit', run.capacity.limit);
    add('launch.command', run.launch_command);
    return out;
  };

  const counting = (run) => {
    const sources = run.decode.map((c) => c.token_source);
    if (sources.includes('chunks')) return 'one a chunk, an estimate';
    return sources.some((s) => s === 'usage-per-chunk' || s === 'usage-final') ? 'by the server' : '';
  };

  const refusals = (a, b, fa, fb) => {
    const out = [];
    const known = (v) => v || 'not recorded';
    if (a.simulated !== b.simulated) out.push('one of the runs was measured against a simulated engine');
    for (const [key, say] of [
      ['tool.method', (x, y) => `the version of the method differs: ${x} and ${y}`],
      ['method.prompts', (x, y) => `prompts differ: ${x} and ${y}`],
      ['method.start', (x, y) => `the start of the streams differs: ${x} and ${y}`],
      ['method.output_tokens', (x, y) => `the length of the answers differs: ${x} and ${y} tokens`],
    ]) {
      const x = fa.get(key) || '', y = fb.get(key) || '';
      if (x !== y) out.push(say(known(x), known(y)));
    }
    const x = counting(a), y = counting(b);
    if (x && y && x !== y) out.push(`tokens were counted differently: ${x} and ${y}`);
    return out;
  };

  const cellsOf = (run) => [
    ...run.prefill.map((c) => ({ ...c, phase: 'prefill', concurrency: 1 })),
    ...run.decode.map((c) => ({ ...c, phase: 'decode' })),
  ];
  const place = (c) => `${c.phase} ${c.context} ${c.concurrency}`;
  const words = (status) => status.replaceAll('-', ' ');
  const statusWhy = (a, b) => {
    if (a.status === b.status) return `both runs: ${words(a.status)}`;
    if (a.status === 'valid') return `second run: ${words(b.status)}`;
    if (b.status === 'valid') return `first run: ${words(a.status)}`;
    return `first run: ${words(a.status)}, second run: ${words(b.status)}`;
  };
  const quotient = (b, a) => (a > 0 && b > 0 ? b / a : null);
  const repeats = (c) => (c.tok_s_interval ? c.tok_s_interval.repeats : 0);

  const divide = (p) => {
    const { a, b } = p;
    p.ratio = b.tok_s / a.tok_s;
    p.ttft = a.ttft_kind === b.ttft_kind ? quotient(b.ttft_ms, a.ttft_ms) : null;
    p.between = quotient(b.time_between_tokens_ms, a.time_between_tokens_ms);
    p.repeats = Math.min(repeats(a), repeats(b));
    const i = a.tok_s_interval, j = b.tok_s_interval;
    if (i && j && i.low > 0 && j.low > 0) {
      const half = Math.hypot(Math.log(i.high / i.low) / 2, Math.log(j.high / j.low) / 2);
      p.low = p.ratio * Math.exp(-half);
      p.high = p.ratio * Math.exp(half);
    }
    let up = p.ratio > 1 + margin, down = p.ratio < 1 / (1 + margin);
    if (p.repeats >= minRepeats && p.low !== undefined) { up = p.low > 1; down = p.high < 1; }
    p.verdict = up ? 'faster' : down ? 'slower' : 'no difference seen';
  };

  const compare = (a, b) => {
    const fa = facts(a), fb = facts(b);
    const keys = [...new Set([...fa.keys(), ...fb.keys()])].sort();
    const differences = keys.filter((k) => (fa.get(k) || '') !== (fb.get(k) || '')).map((k) => [k, fa.get(k) || '', fb.get(k) || '']);
    const refused = refusals(a, b, fa, fb);
    const at = new Map(cellsOf(b).map((c) => [place(c), c]));
    const seen = new Set();
    const pairs = [];
    const add = (x, y) => {
      const key = place(x || y);
      if (seen.has(key)) return;
      seen.add(key);
      const p = { a: x, b: y, verdict: 'cannot be compared', why: '' };
      if (!x) p.why = 'only the second run has this cell';
      else if (!y) p.why = 'only the first run has this cell';
      else if (refused.length) p.why = 'the methods differ';
      else if (x.status !== 'valid' || y.status !== 'valid') p.why = statusWhy(x, y);
      else if (!(x.tok_s > 0) || !(y.tok_s > 0)) p.why = 'a rate is missing';
      else divide(p);
      pairs.push(p);
    };
    for (const c of cellsOf(a)) add(c, at.get(place(c)));
    for (const c of cellsOf(b)) add(undefined, c);
    return { differences, refusals: refused, cells: pairs };
  };
  globalThis.speedmatrix = { compare }; // a test compares it with package compare

  const section = globalThis.document && document.querySelector('[data-compare]');
  if (!section) return;
  const make = (name, content, attributes = {}) => {
    const e = document.createElement(name);
    if (Array.isArray(content)) e.append(...content); else e.textContent = content;
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    return e;
  };
  const dash = (v, say) => (typeof v === 'number' ? say(v) : '—');
  const rate = (v) => (v >= 1e4 ? (v / 1e3).toPrecision(3) + 'K' : v.toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 }));
  const times = (v) => v.toFixed(2) + 'x';
  const table = (label, caption, head, rows) => {
    const t = make('table', [make('caption', caption), make('thead', [make('tr', head.map((h) => make('th', h, { scope: 'col' })))]),
      make('tbody', rows.map((r) => make('tr', r)))], { class: 'data pairs' });
    return make('div', [t], { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label });
  };
  const term = (key) => {
    const [head, ...rest] = key.replaceAll('_', ' ').split('.');
    return head[0].toUpperCase() + head.slice(1) + (rest.length ? ': ' + rest.join('.') : '');
  };
  const cellRow = (p) => {
    const c = p.a || p.b;
    const of = (x) => (!x ? '—' : typeof x.tok_s === 'number' ? rate(x.tok_s) : words(x.status));
    const verdict = make('td', p.verdict, { class: `verdict ${p.verdict}` });
    if (p.why) verdict.append(make('span', ': ', { class: 'vh' }), make('small', p.why, { class: 'word' }));
    return [make('th', c.phase === 'prefill' ? 'Prefill' : 'Sustained decode', { scope: 'row' }), make('th', c.label, { scope: 'row' }), make('th', String(c.concurrency), { scope: 'row' }),
      make('td', of(p.a)), make('td', of(p.b)), make('td', dash(p.ratio, times)), make('td', p.low === undefined ? '—' : `${p.low.toFixed(2)} to ${p.high.toFixed(2)}`),
      verdict, make('td', dash(p.ttft, times)), make('td', dash(p.between, times))];
  };
  const show = (a, b) => {
    const r = compare(a, b);
    const parts = [make('h3', 'What differs')];
    parts.push(r.differences.length
      ? table('Facts that differ', 'Facts and settings that the two runs do not share.', ['Fact', 'First run', 'Second run'],
        r.differences.map(([k, x, y]) => [make('th', term(k), { scope: 'row' }), make('td', x || 'not recorded'), make('td', y || 'not recorded')]))
      : make('p', 'No recorded fact differs.'));
    parts.push(make('h3', 'Cell by cell'));
    if (r.refusals.length) parts.push(make('p', `These runs are not divided by each other: ${r.refusals.join('; ')}.`, { class: 'note' }));
    parts.push(make('p', 'Ratios are second over first. Faster or slower is said only where both runs have three or more repeats, by their 95 % interval, or beyond 10 %.', { class: 'legend' }));
    parts.push(table('Cells of both runs', 'Total tok/s by cell.',
      ['Phase', 'Context', 'Requests at once', 'First, tok/s', 'Second, tok/s', 'Ratio', '95 % interval', 'Verdict', 'TTFT ratio', 'Time between tokens ratio'], r.cells.map(cellRow)));
    return parts;
  };

  const root = section.dataset.root;
  const state = section.querySelector('[data-state]'), result = section.querySelector('[data-result]');
  const sides = [...section.querySelectorAll('select[data-side]')];
  const address = new URLSearchParams(location.search);
  const get = async (path) => {
    const r = await fetch(path);
    if (!r.ok) throw new Error(`${path}: ${r.status}`);
    return r.json();
  };
  const update = async (runs) => {
    result.replaceChildren();
    const chosen = sides.map((s) => runs.find((r) => r.id === s.value));
    // An address may name a run that is not here, or no longer: the choice cannot show it.
    const absent = sides.map((s) => s.value ? '' : address.get(s.dataset.side)).filter(Boolean);
    if (absent.length) { state.textContent = `No run here is called ${absent.join(' or ')}. Choose another.`; return; }
    if (chosen.includes(undefined)) { state.textContent = ''; return; }
    state.textContent = 'Loading';
    const [a, b] = await Promise.all(chosen.map((r) => get(root + r.url)));
    result.replaceChildren(...show(a, b));
    state.textContent = 'Compared';
  };
  get(section.dataset.compare).then(({ runs }) => {
    const run = () => update(runs).catch((e) => { state.textContent = e.message; });
    for (const s of sides) {
      s.append(...runs.map((r) => make('option', `${r.started.slice(0, 10)} ${r.title}, ${r.engine} ${r.engine_version}`, { value: r.id })));
      s.value = address.get(s.dataset.side) || '';
      if (s.selectedIndex < 0) s.selectedIndex = 0;
      s.addEventListener('change', () => {
        if (s.value) address.set(s.dataset.side, s.value); else address.delete(s.dataset.side);
        history.replaceState(null, '', '?' + address);
        run();
      });
    }
    run();
  }).catch((e) => { state.textContent = `${e.message}: comparing needs the site to be served over http.`; });
})();
