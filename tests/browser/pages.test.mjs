// Each kind of page, light and dark, narrow and wide.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import { ink, launch, open, showCharts, site, themes, widths } from './lib.mjs';

const wcag = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

describe('pages', { concurrency: 2 }, () => {
  for (const { kind, path } of site.pages) {
    for (const theme of themes) {
      for (const width of widths) {
        test(`${kind} (${path}) ${theme} ${width}`, async () => {
          const { page, problems, close } = await open(browser, path, { theme, width });
          const charts = await showCharts(page);
          const drawn = await ink(page);
          assert.equal(drawn.length, charts);
          for (const [i, pixels] of drawn.entries()) assert.ok(pixels > 1000, `chart ${i} has ${pixels} pixels of ink`);

          const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
          assert.ok(content <= window, `the page is ${content} px wide in a window of ${window} px`);

          await page.evaluate(() => { for (const d of document.querySelectorAll('details')) d.open = true; });
          const { violations } = await new AxeBuilder({ page }).withTags(wcag).analyze();
          const told = violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(' | ')}`);
          assert.deepEqual(told, []);

          const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert.ok(wide <= 0, `with all details open the page is ${wide} px too wide`);
          assert.deepEqual(problems.filter((p) => !(kind === '404' && p.includes('404'))), []);
          await close();
        });
      }
    }
  }
});
