// Pictures of the pages for the README: node screenshots.mjs, by "make screenshots".
import { join } from 'node:path';
import { launch, open, showCharts, site, themes, widths } from './lib.mjs';

const browser = await launch();
const taken = new Set();
for (const { kind, path } of site.pages) {
  if (taken.has(kind) || kind === '404') continue;
  taken.add(kind);
  const real = kind === 'run' ? site.run : path;
  for (const theme of themes) {
    for (const width of widths) {
      const { page, close } = await open(browser, real, { theme, width });
      await showCharts(page);
      await page.evaluate(() => scrollTo(0, 0));
      await page.screenshot({ path: join(site.screenshots, `${kind}-${theme}-${width}.png`), fullPage: true });
      await close();
    }
  }
}
await browser.close();
