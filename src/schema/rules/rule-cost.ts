import { limits } from '../../base/limits.ts';
import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import { type FieldError, forbidden } from '../../meta/field-error.ts';

/** Rules that the error of all rules names. */
const shownMax = 4;

/** Adds up the estimated costs of the rules of a schema, and knows the limits (KEP-2876, "Resource constraints"). */
export class RuleCosts {
  #total = 0;
  #mostExpensive: readonly { readonly path: string; readonly cost: number }[] = [];

  /** Counts an expression. The error if it costs too much by itself; `name` is what messages call it. */
  add(path: string, cost: number, name: string): readonly FieldError[] {
    this.#total += cost;
    if (cost >= limits.rulesCostMax / 100) {
      const ranked = [...this.#mostExpensive, { path, cost }].sort((a, b) => b.cost - a.cost);
      this.#mostExpensive = ranked.slice(0, shownMax);
    }
    return cost > limits.ruleCostMax
      ? [forbidden(path, tooExpensive(`estimated ${name} cost`, cost, limits.ruleCostMax))]
      : [];
  }

  /** The errors if all rules together cost too much. */
  totalErrors(path: string): readonly FieldError[] {
    if (this.#total <= limits.rulesCostMax) return [];
    const share = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const total = `${schemaExtensions.validations} estimated rule cost total for entire OpenAPIv3 schema`;
    return [
      ...this.#mostExpensive.map((each) => forbidden(each.path, share)),
      forbidden(path, tooExpensive(total, this.#total, limits.rulesCostMax)),
    ];
  }
}

const hint =
  'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';

function tooExpensive(name: string, cost: number, costMax: number): string {
  return `${name} exceeds budget by factor of ${factorText(cost / costMax)} (${hint})`;
}

/** Far above the limit, the estimate means little. Just above it, rounding would hide that it is above. */
function factorText(factor: number): string {
  if (factor > 100) return 'more than 100x';
  return factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
}
