import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { templateHash } from './template-hash.ts';

describe('the hash of a template', () => {
  const template = { metadata: { labels: { a: '1', b: '2' } }, spec: { containers: [{ name: 'c' }], n: 3 } };
  it('is the same for the same content, whatever the order of fields', () => {
    const other = {
      spec: { n: 3, containers: [{ name: 'c' }] },
      metadata: { labels: { b: '2', a: '1' } },
      x: undefined,
    };
    assert.equal(templateHash(other, undefined), templateHash(template, undefined));
  });

  it('is FNV-1a in the letters of names', () => {
    let expected = 0x811c9dc5n;
    for (const byte of Buffer.from('{}')) expected = ((expected ^ BigInt(byte)) * 0x01000193n) % 2n ** 32n;
    const letters = 'bcdfghjklmnpqrstvwxz2456789';
    assert.equal(
      templateHash({}, undefined),
      Array.from(String(expected), (each) => letters[each.charCodeAt(0) % 27]).join(''),
    );
  });

  it('differs by content, by the order of lists, and by the number of collisions', () => {
    const hashes = [
      templateHash(template, undefined),
      templateHash(template, 0),
      templateHash(template, 1),
      templateHash({ list: [1, 2] }, undefined),
      templateHash({ list: [2, 1] }, undefined),
    ];
    assert.equal(new Set(hashes).size, hashes.length);
    for (const hash of hashes) assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  });
});
