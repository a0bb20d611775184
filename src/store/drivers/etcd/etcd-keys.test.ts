import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EtcdKeys, type KeyRange } from './etcd-keys.ts';

const keys = new EtcdKeys('/registry');

const holds = ({ key, rangeEnd }: KeyRange, candidate: string): boolean =>
  Buffer.compare(Buffer.from(candidate), key) >= 0 && Buffer.compare(Buffer.from(candidate), rangeEnd) < 0;

describe('etcd keys', () => {
  test('a key is mapped below the prefix and back', () => {
    for (const key of ['/configmaps/default/a', '/é/😀', '/a/', '//', '/%2f']) {
      assert.equal(Buffer.from(keys.toEtcd(key)).toString(), `/registry${key}`);
      assert.equal(keys.fromEtcd(keys.toEtcd(key)), key);
    }
    assert.equal(Buffer.from(new EtcdKeys('').toEtcd('/a')).toString(), '/a');
    assert.equal(Buffer.from(new EtcdKeys('/a/b').toEtcd('/c')).toString(), '/a/b/c');
  });

  test('an invalid store key is refused', () => {
    for (const key of ['', 'a', '/', '/\0', '/\0a', '/a\ud800']) assert.throws(() => keys.toEtcd(key), RangeError, key);
    for (const prefix of ['registry', '/registry/', '/', '//a', 'a/b']) {
      assert.throws(() => new EtcdKeys(prefix), RangeError, prefix);
    }
  });

  test('ranges end exactly where their prefix does', () => {
    const rows: readonly (readonly [string, string | undefined, readonly string[], readonly string[]])[] = [
      [
        '',
        undefined,
        ['/registry/a', '/registry/\u{10ffff}'],
        ['/registry', '/registry/\0', '/registry2/a', '/registry0'],
      ],
      ['/', undefined, ['/registry/a'], ['/registry/', '/registry/\0', '/registry0', '/registry.']],
      ['/pods/', undefined, ['/registry/pods/', '/registry/pods/a'], ['/registry/pods', '/registry/pods0']],
      ['/é', undefined, ['/registry/é', '/registry/é/a'], ['/registry/e', '/registry/ê']],
      ['/pods/', '/pods/b', ['/registry/pods/b\0', '/registry/pods/ba'], ['/registry/pods/b', '/registry/pods/a']],
      ['/pods/', '/a', ['/registry/pods/a'], ['/registry/a']],
      ['/pods/', '', ['/registry/pods/a'], []],
      ['/pods/', '/q', [], ['/registry/pods/a', '/registry/q', '/registry/qa']],
      ['/pods/', 'q', [], ['/registry/pods/a']],
      ['x', undefined, [], ['/registryx', '/registry/x', '/registry/a']],
    ];
    for (const [prefix, after, inside, outside] of rows) {
      const range = keys.range(prefix, after);
      for (const key of inside) assert.ok(holds(range, key), `${prefix} after ${after} has ${key}`);
      for (const key of outside) assert.ok(!holds(range, key), `${prefix} after ${after} has not ${key}`);
    }
  });

  test('the marker is watched, and is no key', () => {
    assert.ok(holds(keys.watched, Buffer.from(keys.marker).toString()));
    assert.equal(keys.fromEtcd(keys.marker), undefined);
    assert.ok(keys.isMarker(keys.marker));
    assert.ok(!keys.isMarker(keys.toEtcd('/a')));
    assert.ok(!holds(keys.watched, '/registry2/a'));
  });

  test('keys that no store writes have no store key', () => {
    for (const foreign of [Buffer.from('/registry/\0other'), Buffer.from([...Buffer.from('/registry/'), 0xff])]) {
      assert.equal(keys.fromEtcd(foreign), undefined);
      assert.ok(!keys.isMarker(foreign));
    }
  });
});
