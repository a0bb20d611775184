import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultScope, scopeNamed } from './scope.ts';

test('the default scope adds nothing; others have a prefix that no group can have', () => {
  assert.equal(scopeNamed(''), defaultScope);
  assert.deepEqual(defaultScope, { name: '', keyPrefix: '' });
  assert.deepEqual(scopeNamed('b'), { name: 'b', keyPrefix: '/.scopes/b' });
});

for (const name of ['.', '..', 'a/b', 'a.b', '/', ' ', 'A', '-a', 'a-', 'ä', 'a\n', 'a'.repeat(64), '__proto__']) {
  test(`${JSON.stringify(name)} is no name of a scope`, () => {
    assert.throws(() => scopeNamed(name), /is no name of a scope/);
  });
}
