import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Dialect } from '../../dialect/dialect.ts';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { describeFieldError, type FieldError } from '../../meta/field-error.ts';
import { anonymousUser } from '../../request/user-info.ts';
import type { StrategyContext } from '../kind.ts';
import { immediate, now, read } from '../strategy-fixture.ts';
import { customResourceDefinition } from './custom-resource-definition.ts';

/** Definitions in tests of their validation. */

export type Part = Readonly<Record<string, unknown>>;

export const schemaOf = (properties: Part = {}, more: Part = {}): Part => ({
  openAPIV3Schema: { type: 'object', properties, ...more },
});

export const versionOf = (more: Part = {}): Part => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: schemaOf(),
  ...more,
});

/** A valid definition with other parts of its spec. */
export const definitionOf = (spec: Part = {}, more: Part = {}): Part => ({
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [versionOf()],
    ...spec,
  },
  ...more,
});

const texts = (errors: readonly FieldError[]): string[] =>
  errors.map((error) => `${error.field}: ${describeFieldError(error)}`);

const contextOf = (dialect: Dialect): StrategyContext => {
  const requested = customResourceDefinition(dialect);
  return { dialect, user: anonymousUser, now, requested };
};

/** A definition as it is stored, whether it is valid or not. */
export function stored(sent: Part, dialect: Dialect = orch): ApiObject {
  const kind = customResourceDefinition(dialect);
  const context = contextOf(dialect);
  const object = read(kind, sent);
  kind.strategy.default?.(object, context);
  kind.strategy.prepareForCreate?.(object, context);
  return object;
}

/** Errors of a new definition. */
function createErrors(sent: Part, dialect: Dialect = orch): string[] {
  const kind = customResourceDefinition(dialect);
  return texts(immediate(kind.strategy.validateCreate?.(stored(sent, dialect), contextOf(dialect))));
}

/** Errors of an update of a stored definition, whose status it keeps. */
export function updateErrors(old: ApiObject, sent: Part, dialect: Dialect = orch): string[] {
  const kind = customResourceDefinition(dialect);
  const context = contextOf(dialect);
  const object = read(kind, sent);
  object['status'] = structuredClone(old['status']);
  kind.strategy.default?.(object, context);
  kind.strategy.prepareForUpdate?.(object, old, context);
  return texts(immediate(kind.strategy.validateUpdate?.(object, old, context)));
}

/** The stored definition once it is established. */
export const established = (object: ApiObject): ApiObject => ({
  ...object,
  status: { ...Object(object['status']), conditions: [{ type: 'Established', status: 'True' }] },
});

/** What a definition with one version says. */
export const one = (more: Part): Part => definitionOf({ versions: [versionOf(more)] });

/** What is sent, and all errors of it. */
export type Row = readonly [what: string, sent: Part, ...errors: string[]];

/** One test for each row. */
export function check(rows: readonly Row[], dialect: Dialect = orch): void {
  for (const [what, sent, ...errors] of rows) it(what, () => assert.deepEqual(createErrors(sent, dialect), errors));
}

/** Message about a name. */
export const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
