import { cellOf } from '../codec/table.ts';
import { orch } from '../dialect/orch.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { describeFieldError, type FieldError } from '../meta/field-error.ts';
import { anonymousUser } from '../request/user-info.ts';
import { decode } from '../schema/decode.ts';
import { applyDefaults } from '../schema/defaults.ts';
import { validate, validateUpdate } from '../schema/validate.ts';
import type { Pools } from './allocation.ts';
import type { Kind, StrategyContext, ViewSubresource } from './kind.ts';
import { validateFinalizerDomains } from './meta/finalizer-names.ts';
import { allErrors, type Validation } from './validation.ts';

/** Runs strategy and schema validation of a kind as the write path does, for tests of kinds. */

export const now = Date.UTC(2026, 0, 10);

const contextOf = (requested: Kind): StrategyContext => ({ dialect: orch, user: anonymousUser, now, requested });

interface Outcome {
  readonly object: ApiObject;
  /** `field: text` for each error. */
  readonly errors: readonly string[];
}

/** Fields that a client sends; name and namespace are added if missing. */
export type Sent = Readonly<Record<string, unknown>>;

/** The decoded object. Throws on unknown fields and wrong types, to catch typos in tests. */
export function read(kind: Kind, sent: Sent): ApiObject {
  const metadata = {
    name: 'one',
    ...(kind.scope === 'Namespaced' && { namespace: 'default' }),
    ...Object(sent['metadata']),
  };
  const apiVersion = kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
  const { value, errors, unknown } = decode(kind.schema, { apiVersion, kind: kind.kind, ...sent, metadata });
  if (errors.length + unknown.length > 0) throw new Error(JSON.stringify({ errors, unknown }));
  return value as unknown as ApiObject;
}

/** What a client sends, with the defaults of the schema. */
export function filled(kind: Kind, sent: Sent): Sent {
  const object = read(kind, sent);
  applyDefaults(kind.schema, object);
  return JSON.parse(JSON.stringify(object)) as Sent;
}

interface Validated {
  readonly object: ApiObject;
  readonly errors: Validation;
}

export const create = (kind: Kind, sent: Sent): Outcome => immediately(checkedNew(kind, preparedNew(kind, sent)));

/** The same for kinds whose validation takes turns of the event loop, or that are given values: every one is free. */
export async function createLater(kind: Kind, sent: Sent): Promise<Outcome> {
  const object = preparedNew(kind, sent);
  const errors = (await kind.strategy.allocate?.(object, undefined, everyValue)) ?? [];
  return later(errors.length > 0 ? { object, errors } : checkedNew(kind, object));
}

/** Updates `old`, which is passed through `create` first unless it is a stored object; via `subresource` if given. */
export const update = (kind: Kind, old: Sent | ApiObject, sent: Sent, subresource?: string): Outcome =>
  immediately(checkedChange(kind, preparedChange(kind, old, sent, subresource)));

export async function updateLater(kind: Kind, old: Sent | ApiObject, sent: Sent): Promise<Outcome> {
  const change = preparedChange(kind, old, sent);
  const { object, stored } = change;
  const errors = (await kind.strategy.allocate?.(object, stored, everyValue)) ?? [];
  return later(errors.length > 0 ? { object, errors } : checkedChange(kind, change));
}

/** Pools of which everything is free. */
const everyValue: Pools = {
  names: ['IPv4', 'IPv6', 'nodeports'],
  choose: async (pool) => ({ value: pool === 'IPv4' ? '10.0.0.99' : pool === 'IPv6' ? 'fd00::99' : '30099' }),
  take: async (_pool, value) => ({ value }),
};

const immediately = ({ object, errors }: Validated): Outcome => ({ object, errors: texts(immediate(errors)) });
const later = async ({ object, errors }: Validated): Promise<Outcome> => ({ object, errors: texts(await errors) });

function preparedNew(kind: Kind, sent: Sent): ApiObject {
  const context = contextOf(kind);
  const object = read(kind, sent);
  kind.strategy.default?.(object, context);
  kind.strategy.prepareForCreate?.(object, context);
  if (kind.strategy.completeNew) {
    kind.strategy.completeNew(object, context);
    kind.strategy.default?.(object, context);
  }
  return object;
}

function checkedNew(kind: Kind, object: ApiObject): Validated {
  const context = contextOf(kind);
  const errors = allErrors(
    validate(kind.schema, object),
    validateFinalizerDomains(kind, object, context.dialect),
    kind.strategy.validateCreate?.(object, context),
  );
  return { object, errors };
}

interface Change {
  readonly object: ApiObject;
  readonly stored: ApiObject;
  /** The stored object as text. */
  readonly before: string;
  readonly view: Pick<ViewSubresource, 'prepareForUpdate' | 'validateUpdate'>;
}

function preparedChange(kind: Kind, old: Sent | ApiObject, sent: Sent, subresource?: string): Change {
  const context = contextOf(kind);
  const stored = Object.hasOwn(old, 'kind') ? (old as ApiObject) : preparedNew(kind, old);
  const before = JSON.stringify(stored);
  const object = read(kind, sent);
  const view = subresource === undefined ? kind.strategy : viewOf(kind, subresource);
  if (subresource === undefined && kind.subresources.some(({ name }) => name === 'status')) {
    object['status'] = structuredClone(stored['status']);
  }
  kind.strategy.default?.(object, context);
  view.prepareForUpdate?.(object, stored, context);
  return { object, stored, before, view };
}

function checkedChange(kind: Kind, { object, stored, before, view }: Change): Validated {
  const context = contextOf(kind);
  const errors = allErrors(
    validate(kind.schema, object),
    validateUpdate(kind.schema, object, stored),
    view.validateUpdate?.(object, stored, context),
  );
  if (JSON.stringify(stored) !== before) throw new Error('the stored object was changed');
  return { object, errors };
}

export function viewOf(kind: Kind, name: string): ViewSubresource {
  const found = kind.subresources.find((subresource) => subresource.name === name);
  if (found?.type !== 'view') throw new Error(`${kind.kind} has no view ${name}`);
  return found;
}

/** The errors of a validation that waits for nothing. */
export function immediate(errors: Validation | undefined): readonly FieldError[] {
  if (errors instanceof Promise) throw new Error('the validation returns a promise');
  return errors ?? [];
}

const texts = (errors: readonly FieldError[]): string[] =>
  errors.map((error) => `${error.field}: ${describeFieldError(error)}`);

/** Cells by column name; names of wide-only columns have the prefix `*`. */
export const row = (kind: Kind, sent: Sent): Record<string, unknown> =>
  Object.fromEntries(
    kind.columns.map(({ name, priority, value }) => [
      `${priority > 0 ? '*' : ''}${name}`,
      cellOf(value, read(kind, sent), now),
    ]),
  );
