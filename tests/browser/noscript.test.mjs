// Without scripts every page is complete, and nothing stands there that only a script could make work.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, open, site } from './lib.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const words = (text) => text.split(/\s+/).filter(Boolean);

for (const { kind, path } of site.pages) {
  test(`${kind} (${path}) without scripts`, async () => {
    const bare = await open(browser, path, { scripts: false });
    assert.equal(await bare.page.locator('.scripted:visible').count(), 0, 'controls that do nothing are shown');
    const full = await open(browser, path);
    // What scripts show besides: their own controls, ages of runs, counts of rows, copy buttons.
    await full.page.evaluate(() => {
      for (const e of document.querySelectorAll('.scripted, button, [role="status"], time[data-age] small')) e.remove();
    });
    assert.deepEqual(words(await bare.page.locator('main').innerText()), words(await full.page.locator('main').innerText()));
    assert.deepEqual(bare.problems.filter((p) => kind !== '404'), []);
    await Promise.all([bare.close(), full.close()]);
  });
}

test('details of a row and tables of charts open without scripts', async () => {
  const { page, close } = await open(browser, site.run, { scripts: false });
  const row = page.locator('tbody[data-row]').filter({ has: page.locator('details') }).first();
  await row.locator('summary').focus();
  await page.keyboard.press('Enter');
  assert.equal(await row.locator('tr.more').isVisible(), true);
  const figures = page.locator('figure:has([data-chart])');
  assert.ok(await figures.count() > 0);
  for (let i = 0; i < await figures.count(); i++) {
    await figures.nth(i).locator('summary').first().click();
    assert.ok(await figures.nth(i).locator('table tbody tr').first().isVisible(), `figure ${i} has no table`);
  }
  await close();
});
