import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { ParsedNamespaces } from './parsed-namespaces.ts';

const { parsedNamespacesKept, parsedNamespaceBytesMax } = limits;

/** Namespaces with the label `v`. */
class StoredNamespaces {
  readonly #entries = new Map<string, { readonly bytes: Buffer }>();
  readonly collection = { get: (key: string) => this.#entries.get(key) };

  objectKey(namespace: string, name: string): string {
    return `/namespaces/${namespace}/${name}`;
  }

  put(name: string, v: string): void {
    const bytes = Buffer.from(JSON.stringify({ metadata: { name, labels: { v } } }));
    this.#entries.set(this.objectKey('', name), { bytes });
  }

  delete(name: string): void {
    this.#entries.delete(this.objectKey('', name));
  }
}

describe('namespaces as objects', () => {
  const labelIn = (parsed: ParsedNamespaces, stored: StoredNamespaces, name = 'a'): string | undefined =>
    parsed.get(stored, name)?.metadata.labels?.['v'];

  it('are those of the cache, after every change', () => {
    const [parsed, stored] = [new ParsedNamespaces(), new StoredNamespaces()];
    assert.equal(parsed.get(undefined, 'a'), undefined);
    const seen = [labelIn(parsed, stored)];
    for (const v of ['1', '2', '1']) {
      stored.put('a', v);
      seen.push(labelIn(parsed, stored), labelIn(parsed, stored));
    }
    stored.delete('a');
    seen.push(labelIn(parsed, stored));
    stored.put('a', '3');
    seen.push(labelIn(parsed, stored));
    assert.deepEqual(seen, [undefined, '1', '1', '2', '2', '1', '1', undefined, '3']);
  });

  it('are parsed once, as long as they are not large and not too many', () => {
    const [parsed, stored] = [new ParsedNamespaces(), new StoredNamespaces()];
    const isKept = (name: string): boolean => {
      const object = parsed.get(stored, name);
      return parsed.get(stored, name) === object;
    };
    stored.put('small', '1');
    stored.put('large', 'x'.repeat(parsedNamespaceBytesMax));
    assert.deepEqual([isKept('small'), isKept('large')], [true, false]);
    const first = parsed.get(stored, 'small');
    for (let at = 0; at < parsedNamespacesKept; at++) {
      stored.put(`n${at}`, '1');
      parsed.get(stored, `n${at}`);
    }
    assert.notEqual(parsed.get(stored, 'small'), first, 'the oldest one makes room');
    assert.equal(isKept(`n${parsedNamespacesKept - 1}`), true);
  });
});
