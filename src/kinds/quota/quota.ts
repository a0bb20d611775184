import type { ApiObject } from '../../meta/api-object.ts';
import { type Amounts, amountsOf } from './amounts.ts';
import type { Measured } from './evaluator.ts';

/** A ResourceQuota as admission and its controller read it. */
export interface Quota {
  readonly object: ApiObject;
  readonly name: string;
  /** What its status has: what is enforced, and how much of it is used. */
  readonly hard: Amounts;
  readonly used: Amounts;
  /** What is asked for. It is enforced once its usage is known. */
  readonly wanted: Amounts;
  /** All must hold for what is counted. */
  readonly scopes: readonly ScopeSelector[];
}

/** One scope, and which values of it are selected. */
export interface ScopeSelector {
  readonly scopeName: string;
  readonly operator: string;
  readonly values: readonly string[];
}

interface QuotaFields {
  readonly spec?: {
    readonly hard?: Readonly<Record<string, string>>;
    readonly scopes?: readonly string[];
    readonly scopeSelector?: { readonly matchExpressions?: readonly Partial<ScopeSelector>[] };
  };
  readonly status?: {
    readonly hard?: Readonly<Record<string, string>>;
    readonly used?: Readonly<Record<string, string>>;
  };
}

export function readQuota(object: ApiObject): Quota {
  const { spec = {}, status = {} } = object as ApiObject & QuotaFields;
  return {
    object,
    name: object.metadata.name ?? '',
    hard: amountsOf(status.hard),
    used: amountsOf(status.used),
    wanted: amountsOf(spec.hard),
    scopes: [...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists', values: [] })), ...(spec.scopeSelector?.matchExpressions ?? []).map(scopeSelectorOf)],
  };
}

export const scopeSelectorOf = ({ scopeName = '', operator = '', values = [] }: Partial<ScopeSelector>) => ({
  ...{ scopeName, operator, values },
});

/** Whether an object is in a scope, and has a value that is selected. */
export function isSelected({ scopes }: Measured, { scopeName, operator, values }: ScopeSelector): boolean {
  if (!scopes) return false;
  if (!scopes.valued.includes(scopeName)) return scopes.plain.has(scopeName);
  const value = Object.hasOwn(scopes.values, scopeName) ? scopes.values[scopeName] : undefined;
  switch (operator) {
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    default:
      return false;
  }
}

/** Whether an object is in all scopes of a quota. */
export const isInScopes = ({ scopes }: Pick<Quota, 'scopes'>, measured: Measured): boolean => scopes.every((scope) => isSelected(measured, scope));
