import { StoreError } from '../../store.ts';

/** Keys of etcd from `key` on, up to and without `rangeEnd`. */
export interface KeyRange {
  readonly key: Uint8Array;
  readonly rangeEnd: Uint8Array;
}

/**
 * Where a store's keys lie in etcd: `/registry` + `/configmaps/default/a`. Store keys begin with `/`, so that the store
 * with the prefix `/registry` has exactly the keys under `/registry/`, and none of `/registry2`. The key `/registry/`
 * followed by a zero byte is the driver's own (`marker`): it sorts before all others, and no read shows it.
 */
export class EtcdKeys {
  readonly #prefix: string;
  /** Length in bytes of the prefix. */
  readonly #prefixLength: number;
  /** Written to move the head to a revision that a watch of `watched` sees. */
  readonly marker: Uint8Array;
  /** Everything of this store, with the marker. */
  readonly watched: KeyRange;
  /** Everything of this store without the marker. */
  readonly #visible: KeyRange;

  /** `prefix` begins with `/` and has none at its end; '' stands for all of etcd. */
  constructor(prefix: string) {
    if (!/^(\/[^/]+)*$/.test(prefix)) throw new RangeError(`etcd prefix must be like /registry: ${prefix}`);
    this.#prefix = prefix;
    this.#prefixLength = Buffer.byteLength(prefix);
    this.marker = Buffer.from(`${prefix}/\0`);
    this.watched = { key: Buffer.from(`${prefix}/`), rangeEnd: Buffer.from(`${prefix}0`) };
    this.#visible = { key: Buffer.from(`${prefix}/\x01`), rangeEnd: this.watched.rangeEnd };
  }

  toEtcd(key: string): Uint8Array {
    if (!isStoreKey(key)) throw new RangeError(`not a store key: ${JSON.stringify(key)}`);
    return Buffer.from(this.#prefix + key);
  }

  /** Undefined for the marker. Throws `corrupt` for a key that no store writes. */
  fromEtcd(key: Uint8Array): string | undefined {
    if (Buffer.compare(key, this.marker) === 0) return undefined;
    try {
      const text = utf8.decode(key.subarray(this.#prefixLength));
      if (isStoreKey(text)) return text;
    } catch {
      // Not UTF-8: reported below like every other foreign key.
    }
    throw new StoreError('corrupt', `etcd has a foreign key below ${this.#prefix}/: ${JSON.stringify(asText(key))}`);
  }

  /** Keys that start with `prefix` and sort after `after`. Where there can be none the range ends at its key or before. */
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
    // UTF-8 has no byte 0xff, so the last one can always be counted up.
    rangeEnd.writeUInt8(rangeEnd.readUInt8(rangeEnd.length - 1) + 1, rangeEnd.length - 1);
    return { key, rangeEnd };
  }
}

/** `/` and something that sorts after the marker; well-formed, since a lone surrogate has no bytes of its own. */
const isStoreKey = (key: string): boolean => key.startsWith('/') && key.charCodeAt(1) > 0 && key.isWellFormed();

const asText = (key: Uint8Array): string => Buffer.from(key).toString('latin1');

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
