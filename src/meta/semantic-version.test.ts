import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareSemanticVersions, readSemanticVersion } from './semantic-version.ts';

/** In order: those of semver.org, and numbers beyond what a double holds. */
const ordered = [
  ...['0.0.0', '1.0.0-0', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta', '1.0.0-beta.2'],
  ...['1.0.0-beta.11', '1.0.0-rc.1', '1.0.0', '1.2.0', '1.10.0', '2.0.0', '18446744073709551614.0.0'],
  '18446744073709551615.0.0',
];

test('semantic versions: their order', () => {
  const read = ordered.map((text) => readSemanticVersion(text) ?? assert.fail(text));
  for (const [at, a] of read.entries()) {
    for (const [other, b] of read.entries()) {
      assert.equal(Math.sign(compareSemanticVersions(a, b)), Math.sign(at - other), `${ordered[at]} ${ordered[other]}`);
    }
  }
});

test('semantic versions: what follows a plus has no order', () => {
  const [a, b] = ['1.0.0+a', '1.0.0+b.01'].map((text) => readSemanticVersion(text) ?? assert.fail(text));
  assert.ok(a && b);
  assert.equal(compareSemanticVersions(a, b), 0);
});

test('semantic versions: what is none', () => {
  const texts = ['', '1', '1.2', '1.2.3.4', 'v1.2.3', '01.2.3', '1.2.x', '1.2.3-', '1.2.3+', '1.2.3-01', '1.2.3-a..b'];
  for (const text of [...texts, ' 1.2.3', '-1.2.3', '18446744073709551616.0.0', '1.2.3-ä']) {
    assert.equal(readSemanticVersion(text), undefined, text);
  }
});
