// What a first visit to the largest run page costs, as the browser counted it: bytes over the wire, compressed, with headers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { launch, site } from './lib.mjs';

const budgets = { Document: 25, Script: 10, all: 60 }; // KB of 1,024 bytes

test('a first load keeps to its budget', async (t) => {
  const browser = await launch();
  const page = await browser.newPage();
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  const types = new Map();
  const bytes = { Document: 0, Script: 0, all: 0 };
  session.on('Network.responseReceived', (e) => types.set(e.requestId, e.type));
  session.on('Network.loadingFinished', (e) => {
    const type = types.get(e.requestId);
    bytes.all += e.encodedDataLength;
    if (type in bytes) bytes[type] += e.encodedDataLength;
  });
  await page.goto(site.base + site.run, { waitUntil: 'networkidle' });
  await browser.close();
  for (const [what, budget] of Object.entries(budgets)) {
    const kb = bytes[what] / 1024;
    t.diagnostic(`${what}: ${kb.toFixed(1)} KB of ${budget}`);
    assert.ok(kb > 0 && kb <= budget, `${what}: ${kb.toFixed(1)} KB, the budget is ${budget}`);
  }
});
