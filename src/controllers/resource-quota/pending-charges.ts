import { type Amounts, addTo } from '../../kinds/quota/amounts.ts';
import type { Quantity } from '../../meta/quantity.ts';

/** How long the object of a charge is waited for. One that did not come was not written. */
export const chargePendingMs = 10_000;
/** Objects that are remembered because their charge may come later. */
const earlyMax = 1_000;

interface Charge {
  /** That of the quota with the charge. */
  readonly revision: number;
  readonly untilMs: number;
  readonly rest: Map<string, Quantity>;
}

interface Early {
  readonly revision: number;
  readonly rest: Map<string, Quantity>;
}

/**
 * What a quota was charged for objects that were not seen yet: writes that are under way, or failed. If a count left them
 * out, others could have what they were granted. An object is newer than its charge; but they come by different watches, so
 * that either may be seen first.
 */
export class PendingCharges {
  #charges: Charge[] = [];
  #early: Early[] = [];

  /** The quota was charged in this revision of it. */
  charged(amounts: Amounts, revision: number, nowMs: number): void {
    const rest = new Map(amounts);
    for (const early of this.#early) if (early.revision > revision) settle(rest, early.rest);
    // Charges come in order: older objects have none.
    this.#early = this.#early.filter((early) => early.revision > revision && early.rest.size > 0);
    if (rest.size > 0) this.#charges.push({ revision, untilMs: nowMs + chargePendingMs, rest });
  }

  /** An object was seen that uses so much more, in this revision of it. False if no charge for it was seen. */
  arrived(amounts: Amounts, revision: number): boolean {
    const rest = new Map(amounts);
    for (const charge of this.#charges) if (charge.revision < revision) settle(rest, charge.rest);
    this.#charges = this.#charges.filter((charge) => charge.rest.size > 0);
    if (rest.size === 0) return true;
    this.#early.push({ revision, rest });
    if (this.#early.length > earlyMax) this.#early.shift();
    return false;
  }

  pending(nowMs: number): Amounts {
    this.#charges = this.#charges.filter(({ untilMs }) => nowMs < untilMs);
    const sum = new Map<string, Quantity>();
    for (const { rest } of this.#charges) addTo(sum, rest);
    return sum;
  }
}

/** Takes from both what they have in common, in place. */
function settle(a: Map<string, Quantity>, b: Map<string, Quantity>): void {
  for (const [name, { nanos, family }] of [...a]) {
    const other = b.get(name);
    if (!other) continue;
    take(a, name, { nanos: nanos - other.nanos, family });
    take(b, name, { nanos: other.nanos - nanos, family: other.family });
  }
}

function take(amounts: Map<string, Quantity>, name: string, rest: Quantity): void {
  if (rest.nanos > 0n) amounts.set(name, rest);
  else amounts.delete(name);
}
