import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Count } from '../../../base/metrics.ts';

/**
 * Keys below the prefix that no store writes: another program or a person put them there. No object is behind them, so
 * lists and watches pass over them. Each is logged once, up to `limits.etcdForeignKeysLogged`.
 */
export class PassedOverKeys {
  readonly #logger: Logger;
  readonly #counted: Count | undefined;
  readonly #logged = new Set<string>();

  /** `counted`: each time that one is met. */
  constructor({ logger, counted }: { readonly logger: Logger; readonly counted?: Count | undefined }) {
    this.#logger = logger;
    this.#counted = counted;
  }

  note(key: Uint8Array): void {
    this.#counted?.inc();
    if (this.#logged.size >= limits.etcdForeignKeysLogged) return;
    const text = escaped(key);
    if (this.#logged.has(text)) return;
    this.#logged.add(text);
    const remedy = `if nobody needs it: etcdctl del -- $'${text}'`;
    this.#logger.warn('a key in etcd that no server writes is passed over', { key: text, remedy });
  }
}

/** As shells read it in `$'...'`: a key may hold any bytes. */
const escaped = (key: Uint8Array): string => {
  const text = Buffer.from(key).toString('latin1');
  return text.replace(/[^ -~]|['\\]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
};
