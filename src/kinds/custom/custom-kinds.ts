import type { Steps } from '../../base/time/in-slices.ts';
import { parseJsonPath } from '../../meta/json-path.ts';
import type { SelectableField } from '../../meta/selectable-field.ts';
import type { Definition, DefinitionColumn, DefinitionCondition, DefinitionScale, DefinitionVersion } from '../apiextensions/custom-resource-definition.ts';
import { StructuralProblems } from '../apiextensions/non-structural.ts';
import { nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Column, Kind, Subresource } from '../kind.ts';
import { withLazySchema } from '../lazy-schema.ts';
import { objectMeta } from '../meta/object-meta.ts';
import type { DefinedSchemas } from './defined-schemas.ts';

/** The kinds that a definition defines. */
export interface CustomKinds {
  /** One per version, the stored one first. They have the accepted names. */
  readonly kinds: readonly Kind[];
  /** Condition `NonStructuralSchema`, if there is a version without a kind because its schema cannot be used. */
  readonly nonStructural: DefinitionCondition | undefined;
}

/**
 * Reads a definition, which was validated when it was written, maybe by an older server. The schema of a version takes time:
 * there is a pause now and then for whoever iterates.
 */
export function* customKinds(definition: Definition, schemas: DefinedSchemas): Steps<CustomKinds> {
  const { versions = [], preserveUnknownFields } = definition.spec ?? {};
  const kinds: Kind[] = [];
  const problems = new StructuralProblems(preserveUnknownFields === true);
  for (const [index, version] of [...versions.entries()].toSorted(([, a], [, b]) => Number(b.storage) - Number(a.storage))) {
    yield;
    const json = version.schema?.openAPIV3Schema ?? {};
    if (yield* problems.found(json, version, index)) continue;
    kinds.push(withLazySchema(customKind(definition, version), schemas.of(version.name ?? '')));
  }
  return { kinds, nonStructural: problems.condition };
}

function customKind({ metadata, spec = {}, status = {} }: Definition, version: DefinitionVersion): Omit<Kind, 'schema'> {
  const { plural = '', singular = '', kind = '', listKind = '', shortNames = [], categories = [] } = status.acceptedNames ?? {};
  const { deprecated, deprecationWarning } = version;
  const { schema: _, ...kindWithout } = defineKind({
    group: spec.group ?? '',
    version: version.name ?? '',
    kind,
    listKind,
    resource: plural,
    singular,
    shortNames,
    categories,
    scope: spec.scope === 'Cluster' ? 'Cluster' : 'Namespaced',
    schema: objectMeta,
    columns: columnsOf(version),
    selectableFields: (version.selectableFields ?? []).map(selectableField),
    subresources: subresourcesOf(version),
    unconditionalUpdate: false,
    withoutPatches: ['strategic'],
    finalizersWithoutDomain: 'warned',
    generation: true,
    ...(metadata?.deletionTimestamp !== undefined && { terminating: true }),
    ...(version.served !== true && { served: false }),
    ...(deprecated && { deprecated: deprecationWarning === undefined ? {} : { warning: deprecationWarning } }),
  });
  return kindWithout;
}

const verbs = ['get', 'update', 'patch'] as const;

function subresourcesOf({ subresources: { status, scale } = {} }: DefinitionVersion): readonly Subresource[] {
  return [...(status ? [{ type: 'view', name: 'status', verbs, fields: ['status'] } as const] : []), ...(scale ? [scaleOf(scale)] : [])];
}

const scaleOf = ({ specReplicasPath = '', statusReplicasPath = '', labelSelectorPath = '' }: DefinitionScale): Subresource => ({
  ...{ type: 'scale', name: 'scale', verbs },
  specReplicas: namesOf(specReplicasPath),
  statusReplicas: namesOf(statusReplicasPath),
  ...(labelSelectorPath !== '' && { labelSelector: namesOf(labelSelectorPath) }),
});

/** `.spec.replicas` as names of fields. */
const namesOf = (path: string): readonly string[] => path.replace(/^\./, '').split('.');

const ageColumn = (): Column => ({
  ...{ name: 'Age', type: 'date', format: '', priority: 0 },
  description: 'Time since the object was created.',
  value: { path: '.metadata.creationTimestamp', as: { type: 'date' }, absent: null },
});

/** Those up to the first whose path cannot be read, as published. */
function columnsOf({ additionalPrinterColumns = [] }: DefinitionVersion): readonly Column[] {
  if (additionalPrinterColumns.length === 0) return [nameColumn, ageColumn()];
  const unreadable = additionalPrinterColumns.findIndex(({ jsonPath = '' }) => !isJsonPath(jsonPath));
  return [nameColumn, ...additionalPrinterColumns.slice(0, unreadable < 0 ? undefined : unreadable).map(columnOf)];
}

function isJsonPath(text: string): boolean {
  try {
    parseJsonPath(text);
    return true;
  } catch {
    return false;
  }
}

function columnOf({ name = '', type, format = '', description = '', priority = 0, jsonPath = '' }: DefinitionColumn): Column {
  const as = { type: type as Column['type'] };
  return {
    ...{ name, ...as, format: format as Column['format'], priority },
    description: description === '' ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : description,
    value: { path: jsonPath, as, absent: null },
  };
}

/** `.spec.color` and `.spec['color']`. They are indexed: the definition says that they are selected by. */
const selectableField = ({ jsonPath = '' }: NonNullable<DefinitionVersion['selectableFields']>[number]): SelectableField => ({
  label: jsonPath.replace(/^\./, ''),
  paths: [[...jsonPath.matchAll(/\.([^.[]+)|\['([^']*)'\]/g)].map(([, name, quoted = '']) => name ?? quoted)],
  absent: '',
  indexed: true,
});
