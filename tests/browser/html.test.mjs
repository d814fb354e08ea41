// Every HTML file of the site is valid.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { HtmlValidate } from 'html-validate';
import { site } from './lib.mjs';

const validator = new HtmlValidate({
  root: true,
  extends: ['html-validate:recommended'],
  // The standard has details as flow content, allowed in a header cell; html-validate takes it for a section.
  elements: ['html5', { details: { sectioning: false } }],
  rules: {
    'long-title': 'off', // a matter of taste: titles hold the names of models and GPUs
    'prefer-native-element': ['error', { exclude: ['region'] }], // a box that scrolls is a region, not a section of the text
    'valid-id': ['error', { relaxed: true }], // as the standard has it: any text without spaces
  },
});

for (const file of readdirSync(site.dir, { recursive: true }).filter((f) => f.endsWith('.html')).sort()) {
  test(`${file} is valid`, async () => {
    const report = await validator.validateFile(join(site.dir, file));
    const told = report.results.flatMap((r) => r.messages.map((m) => `${m.line}:${m.column} ${m.ruleId}: ${m.message}`));
    assert.deepEqual(told.slice(0, 20), []);
  });
}
