import assert from 'node:assert/strict';
import { relative } from 'node:path';
import { test } from 'node:test';
import { currentDocuments, recorded } from '../../tools/goldens.ts';

for (const golden of await currentDocuments()) {
  test(`${relative(process.cwd(), golden.file)} is what is served (else: node tools/update-goldens.ts)`, () => {
    const now = golden.text.split('\n');
    const before = recorded(golden).split('\n');
    const differs = Array.from({ length: Math.max(now.length, before.length) }).findIndex(
      (_, at) => now[at] !== before[at],
    );
    assert.equal(differs, -1, `line ${differs + 1} is ${now[differs]}, was ${before[differs]}`);
  });
}
