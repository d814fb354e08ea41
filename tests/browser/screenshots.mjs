// Pictures of the pages for the README: node screenshots.mjs, by "make screenshots".
import { join } from 'node:path';
import { launch, open, showCharts, site } from './lib.mjs';

const browser = await launch();

// part: a selector, or { top: N } for the first N pixels; else the whole page.
async function picture(name, path, options, part) {
  const { page, close } = await open(browser, path, options);
  await showCharts(page);
  await page.evaluate(() => scrollTo(0, 0));
  const file = join(site.screenshots, `${name}.png`);
  if (part?.top) await page.screenshot({ path: file, fullPage: true, clip: { x: 0, y: 0, width: options.width, height: part.top } });
  else if (part) await page.locator(part).screenshot({ path: file });
  else await page.screenshot({ path: file, fullPage: true });
  await close();
}

const home = site.pages.find((p) => p.kind === 'home').path;
await picture('run-matrix', site.run, { theme: 'light', width: 1280 }, 'section[aria-labelledby="decode"]');
await picture('run-light', site.run, { theme: 'light', width: 1280 }, { top: 1700 });
await picture('run-dark', site.run, { theme: 'dark', width: 1280 }, { top: 1700 });
await picture('run-narrow', site.run, { theme: 'light', width: 320 }, { top: 1700 });
await picture('home', home, { theme: 'light', width: 1280 });
await browser.close();
