import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Infer } from '../../schema/schema.ts';
import { createdAtColumn, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { statusView } from '../meta/status-view.ts';
import { typed } from '../typed.ts';
import { allErrors } from '../validation.ts';
import { definitionSchema } from './custom-resource-definition-schema.ts';
import { terminating, withConditions } from './definition-conditions.ts';
import { definitionErrors, statusErrors, updatedDefinitionErrors } from './definition-errors.ts';
import { definitionRuleErrors } from './definition-rule-errors.ts';
import { jsonSchemaProps } from './json-schema-props.ts';

type Schema = ReturnType<typeof definitionSchema>;

/** A CustomResourceDefinition, as decoded. */
export type Definition = Infer<Schema>;
export type DefinitionSpec = NonNullable<Definition['spec']>;
export type DefinitionVersion = NonNullable<DefinitionSpec['versions']>[number];
export type DefinitionColumn = NonNullable<DefinitionVersion['additionalPrinterColumns']>[number];
export type DefinitionScale = NonNullable<NonNullable<DefinitionVersion['subresources']>['scale']>;
export type DefinitionNames = NonNullable<DefinitionSpec['names']>;
export type DefinitionStatus = NonNullable<Definition['status']>;
export type DefinitionCondition = NonNullable<DefinitionStatus['conditions']>[number];

/** What a definition says of itself, without its schemas. */
export interface DefinitionHead {
  readonly group: string;
  /** The names that it asks for. */
  readonly names: DefinitionNames;
  readonly status: DefinitionStatus;
}

export const headOf = ({ spec = {}, status = {} }: Definition): DefinitionHead => ({ group: spec.group ?? '', names: spec.names ?? {}, status });

/** Holds a definition while its objects are deleted. */
export const cleanupFinalizer = (dialect: Dialect): string => `customresourcecleanup.${dialect.group('apiextensions')}`;

/** CustomResourceDefinition (KEP-95): defines a kind at run time. */
export function customResourceDefinition(dialect: Dialect): Kind {
  const schema = definitionSchema(jsonSchemaProps(dialect.openapiExtension));
  const definitionOf = (object: ApiObject): Definition => typed(schema, object);

  return defineKind({
    group: dialect.group('apiextensions'),
    kind: 'CustomResourceDefinition',
    hashedVersion: 'v1beta1',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    scope: 'Cluster',
    schema,
    columns: [nameColumn, createdAtColumn],
    strategy: {
      default: (object) => setDefaults(definitionOf(object)),
      prepareForCreate(object) {
        const definition = definitionOf(object);
        object['status'] = structuredClone(noStatus);
        addStoredVersion(definition);
      },
      validateCreate: (object, context) => allErrors(definitionErrors(asDefinition(object), context), definitionRuleErrors(definitionOf(object), undefined, context)),
      prepareForUpdate: (object) => addStoredVersion(definitionOf(object)),
      validateUpdate: (object, old, context) =>
        allErrors(updatedDefinitionErrors(asDefinition(object), asDefinition(old), context), definitionRuleErrors(definitionOf(object), definitionOf(old), context)),
      // Its objects go first. The finalizer says so once the deletion has begun.
      finalizers: ({ metadata }) => (metadata.deletionTimestamp === undefined ? [cleanupFinalizer(dialect)] : []),
      marksDeletionTimeOnly: true,
      prepareForDelete(object, { now }) {
        const { metadata } = object;
        const finalizers = metadata.finalizers ?? [];
        const cleanup = cleanupFinalizer(dialect);
        metadata.finalizers = finalizers.includes(cleanup) ? finalizers : [...finalizers, cleanup];
        const definition = definitionOf(object);
        const conditions = withConditions(headOf(definition), [terminating.pending], now);
        definition.status = { ...definition.status, conditions };
      },
    },
    subresources: [statusView((object) => statusErrors(definitionOf(object).status ?? {}))],
    unconditionalUpdate: false,
    generation: true,
  });
}

/** What published servers show of a definition that nobody has looked at; a list that was never set is null. */
const noStatus = { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: [] };

const asDefinition = (object: ApiObject): Definition & ApiObject => object as Definition & ApiObject;

function setDefaults(definition: Definition): void {
  const { spec = {} } = definition;
  const { names } = spec;
  if (names?.kind) {
    names.singular ??= names.kind.toLowerCase();
    names.listKind ??= `${names.kind}List`;
  }
  spec.conversion ??= { strategy: 'None' };
  if ((definition.status?.storedVersions ?? []).length === 0) addStoredVersion(definition);
}

/** Records the storage version: objects are written in it from now on. */
function addStoredVersion(definition: Definition): void {
  const storage = definition.spec?.versions?.find((version) => version.storage)?.name;
  const { storedVersions = [] } = definition.status ?? {};
  if (storage === undefined || storedVersions.includes(storage)) return;
  definition.status = { ...definition.status, storedVersions: [...storedVersions, storage] };
}
