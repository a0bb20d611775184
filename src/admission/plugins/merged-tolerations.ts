import { limits } from '../../base/limits.ts';
import { LongWork } from '../../base/long-work.ts';
import type { Toleration } from '../../kinds/core/pod/toleration.ts';

interface MergeOptions {
  /** Others wait for this thread: throws LongWork where there are very many. */
  readonly inline: boolean;
}

/**
 * The tolerations of both lists, without those that another one includes. Of equal ones the first stays. Takes time in
 * proportion to their number.
 */
export function mergedTolerations(
  first: readonly Toleration[],
  second: readonly Toleration[],
  { inline }: MergeOptions,
): Toleration[] {
  if (inline && first.length + second.length > limits.inlinePartsMax) throw new LongWork();
  const distinct = new Map<string, Toleration>();
  for (const each of [...first, ...second]) {
    const content = JSON.stringify(normal(each));
    if (!distinct.has(content)) distinct.set(content, each);
  }
  const all = [...distinct.values()];
  const later = new IncludedTolerations();
  const superseded = new Set<Toleration>();
  for (const each of all.toReversed()) {
    if (later.includes(each)) superseded.add(each);
    later.add(each);
  }
  const kept = new IncludedTolerations();
  return all.filter((each) => {
    if (superseded.has(each) || kept.includes(each)) return false;
    kept.add(each);
    return true;
  });
}

/** Absent fields are empty ones. */
const normal = ({ key = '', operator, value = '', effect, tolerationSeconds }: Toleration): readonly unknown[] => [
  ...[key, operator ?? '', value, effect ?? ''],
  tolerationSeconds === undefined ? null : Number(tolerationSeconds),
];

/** What a set of tolerations tolerates. */
export class IncludedTolerations {
  /** All of them, as texts. */
  readonly #all = new Set<string>();
  /** The longest time that is tolerated, by key, effect and, with the operator `Equal`, value. */
  readonly #seconds = new Map<string, number>();

  add(toleration: Toleration): void {
    const { key = '', operator, value = '', effect = '' } = toleration;
    const place = operator === 'Exists' ? [key, effect] : [key, effect, value];
    this.#all.add(JSON.stringify(normal(toleration)));
    const name = JSON.stringify(place);
    // Only where pods are evicted the time counts.
    const seconds = effect === 'NoExecute' ? secondsOf(toleration) : Infinity;
    this.#seconds.set(name, Math.max(this.#seconds.get(name) ?? -Infinity, seconds));
  }

  /** One of them tolerates as much, or is the same. */
  includes(toleration: Toleration): boolean {
    if (this.#all.has(JSON.stringify(normal(toleration)))) return true;
    const { key = '', operator, value = '', effect = '' } = toleration;
    const effects = effect === '' ? [''] : [effect, ''];
    const keys = key === '' ? [''] : [key, ''];
    return effects.some(
      (ofEffect) =>
        keys.some((ofKey) => this.#lasts(toleration, [ofKey, ofEffect])) ||
        (operator === 'Equal' && this.#lasts(toleration, [key, ofEffect, value])),
    );
  }

  #lasts(toleration: Toleration, place: readonly string[]): boolean {
    const seconds = this.#seconds.get(JSON.stringify(place));
    return seconds !== undefined && secondsOf(toleration) <= seconds;
  }
}

const secondsOf = ({ tolerationSeconds }: Toleration): number =>
  tolerationSeconds === undefined ? Infinity : Number(tolerationSeconds);
