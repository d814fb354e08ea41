// Everything here is an addition: the pages are complete without it.
(() => {
  'use strict';
  const root = document.documentElement;
  root.classList.add('js');
  const library = document.currentScript.dataset.charts;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const make = (name, text, attributes = {}) => {
    const e = document.createElement(name);
    e.textContent = text;
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    return e;
  };

  // The state of the tables lives in the address, so that a view can be sent as a link.
  let state = new URLSearchParams(location.search);
  const restored = []; // what to do when going back or forward has brought another state
  addEventListener('popstate', () => {
    state = new URLSearchParams(location.search);
    for (const f of restored) f();
  });
  const keep = () => {
    const query = state.toString();
    history.replaceState(null, '', (query ? '?' + query : location.pathname) + location.hash);
  };
  const set = (key, value) => {
    if (value) state.set(key, value); else state.delete(key);
    keep();
  };

  // Tables: sort by the buttons of the header, filter by buttons and by words.
  const cellValue = (row, column) => {
    const cell = row.rows[0].cells[column];
    const data = cell.querySelector('data, time');
    if (!data) return cell.textContent.trim().replace(/^—$/, '');
    return data.tagName === 'TIME' ? Date.parse(data.dateTime) : Number(data.value);
  };
  const compare = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en'));

  for (const table of all('table[data-table]')) {
    const rows = all('tbody[data-row]', table);
    const heads = all('thead th', table);
    const bar = document.querySelector(`[data-filters="${table.id}"]`);

    const sort = () => {
      const key = state.get('sort');
      const down = state.get('dir') === 'desc';
      const column = heads.findIndex((h) => h.dataset.key === key);
      heads.forEach((h, i) => {
        if (i === column) h.setAttribute('aria-sort', down ? 'descending' : 'ascending'); else h.removeAttribute('aria-sort');
      });
      let order = rows;
      if (column >= 0) {
        const keyed = rows.map((row, index) => ({ row, index, value: cellValue(row, column) }));
        keyed.sort((a, b) => {
          if ((a.value === '') !== (b.value === '')) return a.value === '' ? 1 : -1; // what is missing comes last
          return (down ? -1 : 1) * compare(a.value, b.value) || a.index - b.index;
        });
        order = keyed.map((k) => k.row);
      }
      table.append(...order);
    };

    const filter = () => {
      const words = (state.get('q') || '').toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const d = row.dataset;
        const hit = (!state.get('phase') || d.phase === state.get('phase'))
          && (!state.get('status') || d.status === state.get('status'))
          && words.every((w) => d.search.includes(w));
        row.hidden = !hit;
        shown += hit;
      }
      if (!bar) return;
      for (const b of all('[data-filter]', bar)) b.setAttribute('aria-pressed', String((state.get(b.dataset.filter) || '') === b.dataset.value));
      const note = bar.querySelector('[data-shown]');
      if (note) note.textContent = `${shown} of ${rows.length} ${note.dataset.noun}${rows.length === 1 ? '' : 's'}`;
    };

    // First a click sorts in the direction people look for (numbers: largest first), then the other way, then not at all.
    for (const [i, head] of heads.entries()) {
      const button = head.querySelector('.sort');
      if (!button) continue;
      button.addEventListener('click', () => {
        const first = head.classList.contains('n') ? 'desc' : 'asc';
        const second = first === 'desc' ? 'asc' : 'desc';
        const now = state.get('sort') === heads[i].dataset.key ? state.get('dir') || 'asc' : '';
        const next = now === '' ? first : now === first ? second : '';
        set('sort', next && head.dataset.key);
        set('dir', next);
        sort();
      });
    }
    if (bar) {
      for (const b of all('[data-filter]', bar)) {
        b.addEventListener('click', () => { set(b.dataset.filter, b.dataset.value); filter(); });
      }
      const find = bar.querySelector('[data-find]');
      if (find) {
        const fill = () => { find.value = state.get('q') || ''; };
        fill();
        restored.push(fill);
        find.addEventListener('input', () => { set('q', find.value.trim()); filter(); });
      }
    }
    // A long list has its older runs on other pages: they are fetched when a reader filters or sorts.
    let more = (table.dataset.more || '').split(' ').filter(Boolean);
    const fetchMore = async () => {
      if (!more.length || !(state.get('q') || state.get('sort'))) return;
      const pages = more;
      more = [];
      for (const page of pages) {
        const response = await fetch(page).catch(() => null);
        if (!response || !response.ok) return;
        const found = new DOMParser().parseFromString(await response.text(), 'text/html');
        for (const row of all('tbody[data-row]', found)) {
          for (const a of all('a[href]', row)) a.href = new URL(a.getAttribute('href'), new URL(page, location.href)).href;
          rows.push(document.adoptNode(row));
        }
      }
      sort();
      filter();
    };
    if (table.dataset.more) {
      for (const e of ['click', 'input']) document.addEventListener(e, () => { fetchMore(); });
      fetchMore();
    }
    if (state.get('sort')) sort();
    filter();
    restored.push(sort, filter);
  }

  // A row that is linked to opens; it can be reached although a filter hides it.
  const openTarget = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const row = id && document.getElementById(id);
    if (!row || !row.matches('tbody[data-row]')) return;
    row.hidden = false;
    const details = row.querySelector('details');
    if (details) details.open = true;
  };
  addEventListener('hashchange', openTarget);
  openTarget();

  // Copying: commands, citations, and the link of a row. Where the clipboard is closed to scripts, a selection may still be copied.
  const said = make('p', '', { class: 'vh', role: 'status' });
  document.body.append(said);
  const copy = async (text, back) => {
    try { await navigator.clipboard.writeText(text); return true; } catch { /* no permission, or no https */ }
    const area = make('textarea', text, { class: 'vh', readonly: '' });
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    back.focus();
    return done;
  };
  const copyButton = (label, text) => {
    const b = make('button', label, { type: 'button' });
    b.addEventListener('click', async () => {
      b.textContent = said.textContent = await copy(text(), b) ? 'Copied' : 'Not allowed';
      setTimeout(() => { b.textContent = label; said.textContent = ''; }, 1500);
    });
    return b;
  };
  for (const box of all('.code')) {
    const b = copyButton('Copy', () => box.querySelector('code').textContent);
    b.className = 'copy';
    box.append(b);
  }
  document.addEventListener('toggle', (event) => {
    const row = event.target.closest && event.target.closest('tbody[data-row]');
    const list = row && row.querySelector('.more td');
    if (list && !list.querySelector('button')) {
      list.append(copyButton('Copy link to this row', () => location.origin + location.pathname + '#' + row.id));
    }
  }, true);

  // Print everything.
  addEventListener('beforeprint', () => { for (const d of all('details')) d.open = true; });

  // The age of a run depends on the reader's clock, so it is not in the page.
  for (const t of all('time[data-age]')) {
    const days = Math.floor((Date.now() - Date.parse(t.dateTime)) / 864e5);
    if (!(days >= 0)) continue;
    const [n, unit] = days < 60 ? [days, 'day'] : days < 730 ? [Math.round(days / 30.44), 'month'] : [Math.round(days / 365.25), 'year'];
    t.append(make('small', n === 0 && unit === 'day' ? ' today' : ` ${n} ${unit}${n === 1 ? '' : 's'} ago`));
  }

  // Charts: their options stand in the page, the library comes when one of them comes into view.
  let loading;
  const load = () => {
    loading = loading || new Promise((resolve, reject) => {
      const s = make('script', '');
      s.src = library;
      s.onload = () => resolve(globalThis.echarts);
      s.onerror = () => reject(new Error('the chart library did not load'));
      document.head.append(s);
    });
    return loading;
  };
  const files = {};
  const fetchOnce = (file) => {
    files[file] = files[file] || fetch(file).then((r) => {
      if (!r.ok) throw new Error(`${file}: ${r.status}`);
      return r.json();
    });
    return files[file];
  };

  const dark = matchMedia('(prefers-color-scheme: dark)');
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const short = (v) => {
    if (typeof v !== 'number') return v;
    const a = Math.abs(v);
    if (a >= 1e6) return +(v / 1e6).toPrecision(3) + 'M';
    if (a >= 1e4) return +(v / 1e3).toPrecision(3) + 'K';
    return String(+v.toPrecision(4));
  };
  // All names of a legend stand side by side on as many lines as they need, up to eight; more are leafed through.
  const legendLines = (options, width) => {
    if (!options.legend.show) return { lines: 0, widest: 0 };
    const widths = options.series.map((s) => 22 + 5 + 7 * s.name.length + 10);
    let lines = 1, left = width;
    for (const w of widths) {
      if (w > left && left < width) { lines++; left = width; }
      left -= w;
    }
    return { lines, widest: Math.max(...widths) };
  };
  const legend = (options, width, look) => {
    const { lines, widest } = legendLines(options, width);
    if (!lines) return {};
    const fits = lines <= 8;
    return {
      legend: {
        ...options.legend, ...look, type: fits ? 'plain' : 'scroll', itemWidth: 22, itemGap: 10, itemHeight: 12,
        ...(widest > width ? { textStyle: { ...look.textStyle, width: width - 60, overflow: 'truncate' } } : {}),
        ...(options.series.every((s) => s.symbol === 'none') ? { itemStyle: { opacity: 0 } } : {}),
      },
      grid: options.grid.map((g) => ({ ...g, top: Number(g.top) + (fits ? 20 * (lines - 1) : 0) })),
    };
  };
  const themed = (options, width) => {
    const ink = css('--ink'), soft = css('--soft'), rule = css('--rule');
    const axis = (a) => ({
      ...a,
      nameTextStyle: { color: soft, align: a.nameLocation === 'middle' ? 'center' : 'left', padding: a.nameLocation === 'middle' ? 0 : [0, 0, 0, -28] },
      axisLabel: { color: soft, hideOverlap: true, ...(a.type === 'category' ? {} : { formatter: short }) },
      ...(a.type === 'log' ? { logBase: 2 } : {}),
      axisLine: { onZero: false, lineStyle: { color: css('--rule-strong') } },
      splitLine: { lineStyle: { color: rule } },
      minorSplitLine: { show: false },
    });
    return {
      ...options,
      color: [1, 2, 3, 4, 5, 6, 7, 8].map((i) => css('--c' + i)),
      textStyle: { fontFamily: css('--sans'), color: ink },
      xAxis: options.xAxis.map(axis),
      yAxis: options.yAxis.map(axis),
      ...legend(options, width, { textStyle: { color: ink }, inactiveColor: soft, pageTextStyle: { color: soft }, pageIconColor: ink, pageIconInactiveColor: rule }),
      tooltip: {
        ...options.tooltip, backgroundColor: css('--raised'), borderColor: css('--rule-strong'), textStyle: { color: ink, fontSize: 12 },
        formatter: (p) => [p.seriesName + (p.data && p.data.name ? ' × ' + p.data.name : ''),
          `${options.xAxis[0].type === 'category' ? options.xAxis[0].data[p.value[0]] : short(p.value[0])}  ${options.xAxis[0].name}`,
          `${short(p.value[1])}  ${options.yAxis[0].name}`].join('\n'),
      },
      series: options.series.map((s) => ({
        ...s,
        label: s.label ? { ...s.label, color: soft, fontSize: 11 } : undefined,
        labelLayout: { hideOverlap: true },
        emphasis: { focus: 'series' },
        markArea: s.markArea ? { ...s.markArea, silent: true, itemStyle: { color: css('--mark'), opacity: .55 }, label: { ...s.markArea.label, color: soft } } : undefined,
      })),
    };
  };

  const dashes = ['solid', 'dashed', 'dotted'];
  // What a picker draws; the shapes are those of the options that sitegen writes.
  const draw = {
    cdf: (field) => (base, cells) => ({
      series: cells.filter((c) => c[field]).map((c, n) => ({
        ...base.series[0], name: c.label, data: c[field].ms.map((v, i) => [v, i]), lineStyle: { ...base.series[0].lineStyle, type: dashes[n % 3] },
      })),
    }),
    timeline: (base, [c]) => {
      const t = c.timeline;
      const steps = [...t.tok_s, t.tok_s.at(-1)].map((v, i) => [t.from_s + i * t.bin_s, v]);
      return {
        series: [{ ...base.series[0], name: c.label, data: steps, markArea: windowArea(base, t.window_s) }],
        table: [`Output over time of ${c.label}`, t.tok_s.map((v, i) => [(t.from_s + i * t.bin_s).toFixed(2), (t.from_s + (i + 1) * t.bin_s).toFixed(2), short(v)])],
      };
    },
    strip: (base, [c]) => {
      const wait = [], receive = [];
      const streams = [...new Set(c.rows.map((r) => r[0]))].sort((a, b) => a - b);
      for (const [stream, , start, first, last, end] of c.rows) {
        const y = streams.indexOf(stream);
        const heard = first ?? end;
        if (heard !== null) wait.push([start, y], [heard, y], [null, null]);
        if (first !== null && last !== null) receive.push([first, y], [last, y], [null, null]);
      }
      const seconds = (v) => (v === null ? '—' : v.toFixed(2));
      return {
        yAxis: [{ ...base.yAxis[0], data: streams.map(String) }],
        series: [{ ...base.series[0], data: wait, markArea: windowArea(base, c.window_s) }, { ...base.series[1], data: receive }],
        table: [`Requests of ${c.label}, in seconds`, c.rows.map((r) => [r[0], r[1], seconds(r[2]), seconds(r[3]), seconds(r[4]), seconds(r[5]), r[6].toLocaleString('en'), r[7]])],
      };
    },
  };
  draw.ttft = draw.cdf('ttft');
  draw.between = draw.cdf('between');
  const windowArea = (base, to) => {
    const area = base.series[0].markArea;
    return area && to > 0 ? { ...area, data: [[{ ...area.data[0][0], xAxis: 0 }, { xAxis: to }]] } : undefined;
  };
  const fillTable = (figure, [caption, rows]) => {
    const table = figure.querySelector('table.data');
    table.caption.textContent = caption;
    table.tBodies[0].replaceChildren(...rows.map((r) => {
      const tr = make('tr', '');
      tr.append(...r.map((text, i) => (i ? make('td', text) : make('th', text, { scope: 'row' }))));
      return tr;
    }));
  };

  // Charts are drawn one at a time, when the browser has nothing else to do: reading and scrolling go first.
  const idle = () => new Promise((resolve) => {
    if (globalThis.requestIdleCallback) requestIdleCallback(resolve, { timeout: 1000 }); else setTimeout(resolve, 50);
  });
  let turn = Promise.resolve();
  const inTurn = (work) => { turn = turn.then(idle).then(work).catch(reportError); };

  const charts = [];
  // The page holds distributions at thirteen quantiles, to be small; what is drawn are all of them where they can be fetched.
  const coarse = ['ttft', 'between'];
  const show = async (plot) => {
    const figure = plot.closest('figure');
    const base = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const chart = { base, now: base, plot };
    const picker = pickerOf(figure, chart);
    const paint = (library) => {
      if (chart.drawn) chart.drawn.dispose();
      plot.classList.toggle('tall', legendLines(chart.now, plot.clientWidth).lines > 4);
      chart.drawn = library.init(plot, null, { renderer: 'canvas' });
      chart.drawn.setOption(themed(chart.now, plot.clientWidth));
      plot.dataset.drawn = dark.matches ? 'dark' : 'light'; // paper is light: see the print style
    };
    try {
      const [library] = await Promise.all([load(), picker && picker.first()]);
      chart.paint = paint.bind(null, library);
      await idle();
      chart.paint();
    } catch (error) { plot.textContent = `No chart: ${error.message}. The table below has the numbers.`; return; }
    charts.push(chart);
    new ResizeObserver(() => {
      if (plot.clientWidth === chart.drawn.getWidth() && plot.clientHeight === chart.drawn.getHeight()) return;
      chart.drawn.resize();
      chart.drawn.setOption(legend(chart.now, plot.clientWidth, { textStyle: { color: css('--ink') } }));
    }).observe(plot);
  };

  // A picker changes chart.now, and paints it when the chart has been drawn before.
  const pickerOf = (figure, chart) => {
    const select = figure.querySelector('select[data-draw]');
    if (!select) return null;
    const { source, draw: name } = select.dataset;
    const options = all('option', select);
    const initial = Math.max(0, options.findIndex((o) => o.defaultSelected));
    const wanted = () => {
      const index = options.findIndex((o) => o.value === state.get(name));
      return index < 0 ? initial : index;
    };
    const note = make('span', '', { role: 'status' });
    select.after(note);
    const pick = async () => {
      const atFirst = !chart.paint && select.selectedIndex === initial;
      try {
        const data = await fetchOnce(source);
        const made = draw[name](chart.base, select.value.split(' ').map((id) => data.cells[id]).filter(Boolean));
        chart.now = { ...chart.base, yAxis: made.yAxis || chart.base.yAxis, series: made.series };
        if (chart.paint) chart.paint();
        if (made.table) fillTable(figure, made.table);
        set(name, select.selectedIndex === initial ? '' : select.value);
        note.textContent = '';
      } catch (error) {
        if (!atFirst) note.textContent = ` ${error.message}: other cells need the site to be served over http.`;
      }
    };
    select.addEventListener('change', pick);
    restored.push(() => {
      if (select.selectedIndex === wanted()) return;
      select.selectedIndex = wanted();
      pick();
    });
    if (state.get(name)) select.selectedIndex = wanted();
    return { first: () => (select.selectedIndex !== initial || coarse.includes(name) ? pick() : null) };
  };
  const seen = new IntersectionObserver((entries) => {
    for (const e of entries) {
      if (!e.isIntersecting) continue;
      seen.unobserve(e.target);
      inTurn(() => show(e.target));
    }
  });
  for (const plot of all('[data-chart]')) seen.observe(plot);
  dark.addEventListener('change', () => { for (const c of charts) c.paint(); });
})();
