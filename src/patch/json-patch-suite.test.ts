import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { applyJsonPatch, parseJsonPatch } from './json-patch.ts';

/** The test suite of RFC 6902: https://github.com/json-patch/json-patch-tests. */
interface SuiteCase {
  readonly comment?: string;
  readonly doc: unknown;
  readonly patch: unknown;
  readonly expected?: unknown;
  readonly error?: string;
  /** Disabled by the suite: duplicate members, which decoded JSON no longer shows. */
  readonly disabled?: boolean;
}

const require = createRequire(import.meta.url);

for (const file of ['tests.json', 'spec_tests.json']) {
  test(`json-patch-test-suite/${file}`, () => {
    for (const { comment, doc, patch, expected, error, disabled } of require(
      `json-patch-test-suite/${file}`,
    ) as readonly SuiteCase[]) {
      if (disabled) continue;
      const apply = (): unknown => applyJsonPatch(doc, parseJsonPatch(patch));
      const about = `${comment ?? ''} ${JSON.stringify(patch)}`;
      if (error !== undefined) assert.throws(apply, { name: 'StatusError' }, about);
      else if (expected === undefined) apply();
      else assert.deepEqual(apply(), expected, about);
    }
  });
}
