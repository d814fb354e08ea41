// The run page and the home page by keyboard alone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ink, launch, open, showCharts, site } from './lib.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const column = (page, n) => page.locator(`table[data-table] tbody:not([hidden]) tr:first-child > :nth-child(${n})`).allInnerTexts();

test('every control is reached by Tab and shows that it is', async () => {
  const { page, problems, close } = await open(browser, site.run);
  const wanted = await page.evaluate(() => {
    const visible = (e) => e.checkVisibility({ visibilityProperty: true }); // not so: what closed details hold
    const controls = [...document.querySelectorAll('a[href], button, select, summary, input, [tabindex="0"]')].filter(visible);
    controls.forEach((e, i) => { e.dataset.testControl = String(i); });
    return controls.length;
  });
  const reached = new Set();
  for (let i = 0; i < wanted + 20 && reached.size < wanted; i++) {
    await page.keyboard.press('Tab');
    const now = await page.evaluate(() => {
      const e = document.activeElement;
      const style = getComputedStyle(e);
      return { id: e.dataset.testControl, html: e.outerHTML.slice(0, 120), ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0 };
    });
    if (now.id === undefined) continue;
    reached.add(now.id);
    assert.ok(now.ring, `no focus ring on ${now.html}`);
  }
  assert.equal(reached.size, wanted, `Tab reached ${reached.size} of ${wanted} controls`);
  assert.deepEqual(problems, []);
  await close();
});

test('a column is sorted by its button; the address keeps it', async () => {
  const { page, problems, close } = await open(browser, site.run);
  const head = page.locator('table[data-table] th[data-key]').nth(4);
  const key = await head.getAttribute('data-key');
  const before = await column(page, 5);
  await head.locator('button').focus();
  await page.keyboard.press('Enter');
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
  const values = await page.locator('table[data-table] tbody tr:first-child > :nth-child(5)').evaluateAll(
    (cells) => cells.map((c) => c.querySelector('data')).filter(Boolean).map((d) => Number(d.value)));
  assert.ok(values.length > 1, 'fewer than two numbers to sort');
  assert.deepEqual(values, values.toSorted((a, b) => b - a));
  const sorted = await column(page, 5);
  assert.match(page.url(), new RegExp(`sort=${key}&dir=desc`));

  await page.reload();
  assert.deepEqual(await column(page, 5), sorted);
  assert.equal(await head.getAttribute('aria-sort'), 'descending');

  await head.locator('button').focus();
  await page.keyboard.press('Space');
  assert.equal(await head.getAttribute('aria-sort'), 'ascending');
  await page.keyboard.press('Space');
  assert.equal(await head.getAttribute('aria-sort'), null);
  assert.deepEqual(await column(page, 5), before);
  assert.deepEqual(problems, []);
  await close();
});

test('rows are filtered by the buttons; the count is told', async () => {
  const { page, problems, close } = await open(browser, site.run);
  const all = await page.locator('tbody[data-row]').count();
  const button = page.locator('[data-filter="phase"]:not([data-value=""])').first();
  const phase = await button.getAttribute('data-value');
  await button.focus();
  await page.keyboard.press('Enter');
  assert.equal(await button.getAttribute('aria-pressed'), 'true');
  const shown = await page.locator('tbody[data-row]:not([hidden])').evaluateAll((rows) => rows.map((r) => r.dataset.phase));
  assert.ok(shown.length > 0 && shown.length < all);
  assert.ok(shown.every((p) => p === phase));
  assert.match(await page.locator('[data-shown]').innerText(), new RegExp(`^${shown.length} of ${all} `));
  assert.deepEqual(problems, []);
  await close();
});

test('a row opens its details, and a link to it does', async () => {
  const { page, problems, close } = await open(browser, site.run);
  const row = page.locator('tbody[data-row]').filter({ has: page.locator('details') }).first();
  await row.locator('summary').focus();
  assert.equal(await row.locator('tr.more').isVisible(), false);
  await page.keyboard.press('Enter');
  assert.equal(await row.locator('tr.more').isVisible(), true);
  const id = await row.getAttribute('id');
  await close();
  const linked = await open(browser, `${site.run}#${id}`);
  assert.equal(await linked.page.locator(`#${id} tr.more`).isVisible(), true);
  assert.deepEqual([...problems, ...linked.problems], []);
  await linked.close();
});

test('going back and forward restores the view', async () => {
  const { page, problems, close } = await open(browser, site.run);
  const view = () => page.evaluate(() => [document.querySelectorAll('tbody[data-row]:not([hidden])').length, document.querySelectorAll('[aria-sort]').length].join());
  const before = await view();
  await page.locator('.matrix td a').first().focus();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash !== '');
  await page.locator('[data-filter="phase"]').nth(1).press('Enter');
  await page.locator('th[data-key] .sort').nth(4).press('Enter');
  const after = await view();
  assert.notEqual(after, before);
  await page.goBack();
  assert.equal(await view(), before);
  await page.goForward();
  assert.equal(await view(), after);
  assert.deepEqual(problems, []);
  await close();
});

test('a cell is copied as one line of text', async () => {
  const { page, close } = await open(browser, site.run);
  const text = await page.evaluate(() => {
    getSelection().selectAllChildren(document.querySelector('.matrix td'));
    return getSelection().toString();
  });
  assert.match(text, /^[\d.,K]+ tok\/s, TTFT [\d,]+ ms(, .+)?$/);
  await close();
});

test('the link of a row is copied without the right to the clipboard', async () => {
  const { page, problems, close } = await open(browser, site.run);
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'));
    document.addEventListener('copy', () => { document.body.dataset.copied = String(getSelection()) || document.activeElement.value; });
  });
  const row = page.locator('tbody[data-row]').filter({ has: page.locator('details') }).first();
  await row.locator('summary').press('Enter');
  const button = row.locator('.more button');
  await button.press('Enter');
  await page.waitForFunction(() => document.body.dataset.copied);
  assert.equal(await page.evaluate(() => document.body.dataset.copied), `${site.base}${site.run}#${await row.getAttribute('id')}`);
  assert.equal(await button.evaluate((b) => document.activeElement === b), true, 'the focus was lost');
  assert.deepEqual(problems, []);
  await close();
});

test('a picker draws another cell', async () => {
  const { page, problems, close } = await open(browser, site.run);
  assert.ok(await showCharts(page) > 0, 'the run page has no chart');
  const picks = page.locator('select[data-draw]');
  for (let i = 0; i < await picks.count(); i++) {
    const select = picks.nth(i);
    if (await select.locator('option').count() < 2) continue;
    const plot = select.locator('xpath=ancestor::figure').locator('[data-chart]');
    await plot.scrollIntoViewIfNeeded();
    const picture = () => plot.locator('canvas').evaluate((c) => c.toDataURL());
    const first = await picture();
    const value = await select.inputValue();
    await select.focus();
    await page.keyboard.press('ArrowDown');
    if (await select.inputValue() === value) await page.keyboard.press('ArrowUp');
    assert.notEqual(await select.inputValue(), value);
    await page.waitForFunction(([n, old]) => {
      const figure = document.querySelectorAll('select[data-draw]')[n].closest('figure');
      const canvas = figure.querySelector('[data-chart] canvas');
      return canvas && canvas.toDataURL() !== old;
    }, [i, first], { timeout: 10000 });
    assert.ok(page.url().includes(`${await select.getAttribute('data-draw')}=`), `${page.url()} does not keep the choice`);
  }
  for (const pixels of await ink(page)) assert.ok(pixels > 1000);
  assert.deepEqual(problems, []);
  await close();
});

test('runs are found by words on the home page', async () => {
  const { page, problems, close } = await open(browser, '');
  const find = page.locator('[data-find]');
  await find.focus();
  await page.keyboard.type('no such run');
  assert.equal(await page.locator('tbody[data-row]:not([hidden])').count(), 0);
  assert.match(page.url(), /q=no/);
  assert.deepEqual(problems, []);
  await close();
});

test('any two runs are compared; the address keeps them, and says when one is not here', async () => {
  const { page, problems, close } = await open(browser, 'compare/');
  const [a, b] = [page.locator('select[data-side="a"]'), page.locator('select[data-side="b"]')];
  const state = page.locator('[data-state]');
  await page.waitForFunction(() => document.querySelectorAll('select[data-side="b"] option').length > 2);
  const ids = await a.locator('option').evaluateAll((all) => all.map((o) => o.value).filter(Boolean));
  await a.selectOption(ids[0]);
  await b.selectOption(ids[1]);
  await page.waitForFunction(() => document.querySelector('[data-state]').textContent === 'Compared');
  assert.deepEqual(await page.locator('[data-result] h3').allInnerTexts(), ['What differs', 'Cell by cell']);
  assert.ok(await page.locator('[data-result] table.pairs').last().locator('tbody tr').count() > 0, 'no cell is shown');

  await page.reload();
  await page.waitForFunction(() => document.querySelector('[data-state]').textContent === 'Compared');
  assert.equal(await a.inputValue(), ids[0]);
  assert.equal(await b.inputValue(), ids[1]);

  await page.goto(`${site.base}compare/?a=nobody&b=${ids[1]}`);
  await page.waitForFunction(() => document.querySelector('[data-state]').textContent.includes('nobody'));
  assert.equal(await state.innerText(), 'No run here is called nobody. Choose another.');
  assert.equal(await a.locator('option:checked').innerText(), 'choose');
  await a.selectOption(ids[1]);
  await page.waitForFunction(() => document.querySelector('[data-state]').textContent === 'Compared');
  assert.match(await page.locator('[data-result]').innerText(), /No recorded fact differs/);
  assert.deepEqual(problems, []);
  await close();
});
