// Lighthouse, as it judges a phone on a slow network. Three categories are facts of the page and must be 100. The
// performance score leans on this machine's speed at the moment too, which other work can only lower: the first of some
// attempts that reaches the target is enough. Where none does, the page is judged on the same slow network with this
// processor taken as it is, not four times slowed: what fails then is the page and fails the build; what failed only before
// may be the machine, and is told. LIGHTHOUSE=strict, for a quiet machine, lets that fail the build too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launch as launchChrome } from 'chrome-launcher';
import lighthouse from 'lighthouse';
import { flags, site } from './lib.mjs';

const facts = ['accessibility', 'best-practices', 'seo'];
const target = 98;
const attempts = 5;
const strict = process.env.LIGHTHOUSE === 'strict';
const unslowed = { extends: 'lighthouse:default', settings: { throttling: { rttMs: 150, throughputKbps: 1638.4, cpuSlowdownMultiplier: 1 } } };

const failures = (lhr, category) => lhr.categories[category].auditRefs
  .map((ref) => ({ weight: ref.weight, ...lhr.audits[ref.id] }))
  .filter((a) => a.weight > 0 && a.score !== null && a.score < 1)
  .map((a) => `${a.id}: ${a.title} ${a.displayValue ?? ''}`);

// judge loads the page in a browser of its own and returns Lighthouse's report. It throws where the page could not be
// judged, as when the browser did not answer in time.
async function judge(path, onlyCategories, config) {
  const chrome = await launchChrome({ chromePath: site.chromium, chromeFlags: ['--headless=new', ...flags], logLevel: 'silent' });
  try {
    const { lhr } = await lighthouse(site.base + path, { port: chrome.port, logLevel: 'silent', onlyCategories }, config);
    if (lhr.runtimeError) throw new Error(`${lhr.runtimeError.code}: ${lhr.runtimeError.message}`);
    return lhr;
  } finally {
    await chrome.kill();
  }
}

const performance = (lhr) => Math.round(100 * lhr.categories.performance.score);
const sum = (lhr) => Object.values(lhr.categories).reduce((n, c) => n + c.score, 0);
const short = (lhr) => Object.values(lhr.categories).some((c) => c.score < (c.id === 'performance' ? target / 100 : 1));

// best judges the page until no category falls short or the attempts are used up, and returns the best report. An attempt
// that fails is told; when all do, the last one's error is thrown.
async function best(t, path, categories, config) {
  let found;
  let failed;
  for (let i = 0; i < attempts && (!found || short(found)); i++) {
    try {
      const lhr = await judge(path, categories, config);
      t.diagnostic(`performance ${performance(lhr)}, benchmark index ${Math.round(lhr.environment.benchmarkIndex)}`);
      if (!found || sum(lhr) > sum(found)) found = lhr;
    } catch (e) {
      failed = e;
      t.diagnostic(`attempt ${i + 1}: ${e.message}`);
    }
  }
  if (!found) throw failed;
  return found;
}

// One page of each kind, of the runs the largest. The 404 page asks not to be indexed.
const kinds = new Map(site.pages.filter((p) => p.kind !== '404').map((p) => [p.kind, p.kind === 'run' ? site.run : p.path]));

for (const [kind, path] of kinds) {
  test(`${kind} (${path})`, async (t) => {
    const html = await (await fetch(site.base + path)).text();
    const judged = facts.filter((f) => f !== 'seo' || !html.includes('noindex')); // a page that asks not to be found
    const phone = await best(t, path, [...judged, 'performance']);
    for (const f of judged) assert.equal(phone.categories[f].score, 1, `${f}: ${failures(phone, f).join('; ')}`);
    if (performance(phone) >= target) return;
    const told = `performance ${performance(phone)} at best, want ${target}: ${failures(phone, 'performance').join('; ')}`;
    assert.ok(!strict, told);
    t.diagnostic(`${told}; now without slowing this processor`);
    const here = await best(t, path, ['performance'], unslowed);
    assert.ok(performance(here) >= target, `performance ${performance(here)} without slowing this processor, want ${target}: ${failures(here, 'performance').join('; ')}`);
  });
}
