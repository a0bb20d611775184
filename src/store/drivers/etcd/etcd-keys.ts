/** etcd keys from `key` (inclusive) to `rangeEnd` (exclusive). */
export interface KeyRange {
  readonly key: Uint8Array;
  readonly rangeEnd: Uint8Array;
}

/** All keys, of whatever prefix: etcd takes a zero byte as the end for no end. */
export const allOfEtcd: KeyRange = { key: Uint8Array.of(0), rangeEnd: Uint8Array.of(0) };

/**
 * Maps store keys to etcd keys: `/registry` + `/configmaps/default/a`. Store keys begin with `/`, so the store with the
 * prefix `/registry` has exactly the keys under `/registry/`, and none of `/registry2`. The key `/registry/` followed
 * by a zero byte belongs to the driver (`marker`): it sorts before all others and is never returned by reads.
 */
export class EtcdKeys {
  readonly #prefix: string;
  /** Length of the prefix in bytes. */
  readonly #prefixLength: number;
  /** Written to advance the head to a revision that a watch of `watched` sees. */
  readonly marker: Uint8Array;
  /** All keys of this store, including the marker. */
  readonly watched: KeyRange;
  /** All keys of this store, without the marker. */
  readonly #visible: KeyRange;

  /** `prefix` begins with `/` and does not end with one; '' is all of etcd. */
  constructor(prefix: string) {
    if (!/^(\/[^/]+)*$/.test(prefix)) throw new RangeError(`etcd prefix must be like /registry: ${prefix}`);
    this.#prefix = prefix;
    this.#prefixLength = Buffer.byteLength(prefix);
    this.marker = Buffer.from(`${prefix}/\0`);
    this.watched = { key: Buffer.from(`${prefix}/`), rangeEnd: Buffer.from(`${prefix}0`) };
    this.#visible = { key: Buffer.from(`${prefix}/\x01`), rangeEnd: this.watched.rangeEnd };
  }

  isWatched(key: Uint8Array): boolean {
    return Buffer.compare(key, this.watched.key) >= 0 && Buffer.compare(key, this.watched.rangeEnd) < 0;
  }

  toEtcd(key: string): Uint8Array {
    if (!isStoreKey(key)) throw new RangeError(`not a store key: ${JSON.stringify(key)}`);
    return Buffer.from(this.#prefix + key);
  }

  isMarker(key: Uint8Array): boolean {
    return Buffer.compare(key, this.marker) === 0;
  }

  /** Undefined for a key that no store writes, and for the marker. */
  fromEtcd(key: Uint8Array): string | undefined {
    try {
      const text = utf8.decode(key.subarray(this.#prefixLength));
      return isStoreKey(text) ? text : undefined;
    } catch {
      // Not UTF-8.
      return undefined;
    }
  }

  /** Keys that start with `prefix` and sort after `after`. If there can be none, `rangeEnd` is not after `key`. */
  range(prefix: string, after: string | undefined): KeyRange {
    const { key, rangeEnd } = this.#startingWith(prefix);
    if (after === undefined) return { key, rangeEnd };
    const next = Buffer.from(`${this.#prefix}${after}\0`);
    return { key: Buffer.compare(next, key) > 0 ? next : key, rangeEnd };
  }

  #startingWith(prefix: string): KeyRange {
    if (prefix === '' || prefix === '/') return this.#visible;
    if (!isStoreKey(prefix)) return { key: this.#visible.rangeEnd, rangeEnd: this.#visible.rangeEnd };
    const key = Buffer.from(this.#prefix + prefix);
    const rangeEnd = Buffer.from(key);
    // UTF-8 has no byte 0xff, so the last byte can always be incremented.
    rangeEnd.writeUInt8(rangeEnd.readUInt8(rangeEnd.length - 1) + 1, rangeEnd.length - 1);
    return { key, rangeEnd };
  }
}

/**
 * `/` followed by something that sorts after the marker; well-formed, because a lone surrogate has no UTF-8 encoding.
 */
const isStoreKey = (key: string): boolean => key.startsWith('/') && key.charCodeAt(1) > 0 && key.isWellFormed();

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
