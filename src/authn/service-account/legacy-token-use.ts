import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';

/** A label to set on a token Secret. */
export interface LegacyTokenMark {
  readonly namespace: string;
  readonly name: string;
  /** Of the Secret whose token was used; a recreated Secret is left alone. */
  readonly uid: string;
  readonly label: string;
  /** `2026-01-31`, UTC. */
  readonly date: string;
}

interface LegacyTokenUseOptions {
  /** Writes the label; called about once a day for each Secret in use. */
  readonly mark: (mark: LegacyTokenMark) => Promise<void>;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly logger: Logger;
}

const dayMs = 24 * 3600_000;

/**
 * Records the day on which a Secret's token was last used as a label of the Secret, so that unused ones can be found.
 * Runs in the background: requests neither wait for it nor fail with it.
 */
export class LegacyTokenUse {
  readonly #options: LegacyTokenUseOptions;
  /** uids of Secrets that are being labelled. */
  readonly #underWay = new Set<string>();

  constructor(options: LegacyTokenUseOptions) {
    this.#options = options;
  }

  note({ metadata }: ApiObject): void {
    const { clock, dialect } = this.#options;
    const { namespace = '', name = '', uid = '' } = metadata;
    const label = `${dialect.domain}/legacy-token-last-used`;
    const date = dateOf(clock.now());
    const last = metadata.labels?.[label];
    // A server whose clock is ahead may have written tomorrow's date.
    if (last === date || last === dateOf(clock.now() + dayMs)) return;
    if (this.#underWay.has(uid) || this.#underWay.size >= limits.legacyMarksUnderWayMax) return;
    void this.#mark({ namespace, name, uid, label, date });
  }

  /** Never rejects. */
  async #mark(mark: LegacyTokenMark): Promise<void> {
    const { namespace, name, uid } = mark;
    this.#underWay.add(uid);
    try {
      await this.#options.mark(mark);
    } catch (error) {
      // The next use tries again.
      this.#options.logger.warn('the last use of a token Secret could not be recorded', { namespace, name, error });
    } finally {
      this.#underWay.delete(uid);
    }
  }
}

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
