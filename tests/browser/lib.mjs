// What the browser tests share: the site under test, a browser, and a page whose every complaint is noted.
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

// { base, dir, chromium, run, pages: [{ kind, path }], screenshots }, written by browser_test.go. base ends in "/"
// and is not the root of its server; run is the path of the run with the most cells.
export const site = JSON.parse(readFileSync(process.env.BROWSER_TEST_SITE, 'utf8'));

export const themes = ['light', 'dark'];
export const widths = [320, 1280];

// Started as root, as in a container, Chromium has no sandbox to offer; it loads nothing but the site under test.
export const flags = ['--disable-dev-shm-usage', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];

export const launch = () => chromium.launch({ executablePath: site.chromium, args: flags });

// open loads a page of the site. problems fills, while the page lives, with what must not happen: errors and warnings on
// the console, exceptions, dialogs, requests that leave the site, and requests that fail.
export async function open(browser, path, { theme = 'light', width = 1280, scripts = true } = {}) {
  const context = await browser.newContext({
    colorScheme: theme, viewport: { width, height: 800 }, javaScriptEnabled: scripts, reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const problems = [];
  page.on('console', (m) => { if (['error', 'warning'].includes(m.type())) problems.push(`console ${m.type()}: ${m.text()}`); });
  page.on('pageerror', (e) => problems.push(`exception: ${e.message}`));
  page.on('dialog', (d) => { problems.push(`dialog: ${d.message()}`); d.dismiss(); });
  page.on('request', (r) => { if (!r.url().startsWith(site.base)) problems.push(`request outside the site: ${r.url()}`); });
  page.on('requestfailed', (r) => problems.push(`request failed: ${r.url()}: ${r.failure()?.errorText}`));
  page.on('response', (r) => { if (r.status() >= 400) problems.push(`answer ${r.status()}: ${r.url()}`); });
  await page.goto(site.base + path, { waitUntil: 'load' });
  return { page, problems, close: () => context.close() };
}

// showCharts scrolls through the page, which is what makes charts load, and waits until each has drawn.
export async function showCharts(page) {
  const plots = page.locator('[data-chart]');
  for (let i = 0; i < await plots.count(); i++) {
    await plots.nth(i).scrollIntoViewIfNeeded();
    await page.waitForFunction((n) => document.querySelectorAll('[data-chart]')[n].hasAttribute('data-drawn'), i, { timeout: 60000 });
  }
  return plots.count();
}

// ink counts, for each chart, the pixels of its canvas that are not transparent.
export const ink = (page) => page.evaluate(() => [...document.querySelectorAll('[data-chart]')].map((plot) => {
  const canvas = plot.querySelector('canvas');
  if (!canvas) return 0;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let n = 0;
  for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
  return n;
}));
