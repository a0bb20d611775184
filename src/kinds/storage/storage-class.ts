import { deprecatedNodeLabel } from '../../dialect/deprecated-node-labels.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, forbidden, notSupported } from '../../meta/field-error.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { always, bool, documentedEnum, enumOf, list, map, opt, ptr, string } from '../../schema/schema.ts';
import { ageColumn, column } from '../columns.ts';
import { topologySelectorTerm, validateTopologies } from '../core/topology-selector.ts';
import { defineKind } from '../define-kind.ts';
import type { Column, Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { validateClassDriver, validateParameters } from './class-parameters.ts';

const schema = kindSchema('api.storage.v1.StorageClass', 'A class of storage, from which volumes are made for claims.', {
  provisioner: always(2, string(), 'Name of the driver that makes the volumes.'),
  parameters: opt(3, map(string()), 'What the driver is told of the volumes of this class.'),
  reclaimPolicy: ptr(4, documentedEnum('Delete', 'Recycle', 'Retain'), 'What becomes of a volume after its claim: `Delete` or `Retain`.', { default: 'Delete' }),
  mountOptions: opt(5, list(string()), 'Options with which the volumes are mounted; nobody checks them before.'),
  allowVolumeExpansion: ptr(6, bool(), 'Whether claims may ask for more later.'),
  volumeBindingMode: ptr(7, enumOf('Immediate', 'WaitForFirstConsumer'), 'Whether volumes are made and bound at once, or for the first pod that uses them.', {
    default: 'Immediate',
    immutable: 'always',
  }),
  allowedTopologies: opt(8, list(topologySelectorTerm), 'Where volumes may be made; anywhere where it is empty.'),
});

/** Whether the volumes of a class may grow. */
export const allowsExpansion = (object: ApiObject): boolean => typed(schema, object).allowVolumeExpansion ?? false;

const reclaimPolicies = ['Delete', 'Retain'];

function validate(object: ApiObject): FieldError[] {
  const { provisioner = '', parameters = {}, reclaimPolicy = '', allowedTopologies = [] } = typed(schema, object);
  return [
    ...validateClassDriver(provisioner, 'provisioner'),
    ...validateParameters(parameters, 'parameters'),
    ...(reclaimPolicy === '' || reclaimPolicies.includes(reclaimPolicy) ? [] : [notSupported('reclaimPolicy', reclaimPolicy, reclaimPolicies)]),
    ...validateTopologies(allowedTopologies, 'allowedTopologies'),
  ];
}

const frozen = ['parameters', 'provisioner', 'reclaimPolicy'] as const;

function validateUpdate(object: ApiObject, old: ApiObject): FieldError[] {
  const changed = frozen.filter((field) => !equalValues(object[field] ?? {}, old[field] ?? {}));
  return [...validate(object), ...changed.map((field) => forbidden(field, `updates to ${field} are forbidden.`))];
}

const warnings = (object: ApiObject, dialect: Dialect): string[] =>
  (typed(schema, object).allowedTopologies ?? []).flatMap(({ matchLabelExpressions = [] }, index) =>
    matchLabelExpressions.flatMap(({ key = '' }, i) => {
      const text = deprecatedNodeLabel(dialect, key);
      return text === undefined ? [] : [`allowedTopologies[${index}].matchLabelExpressions[${i}].key: ${text}`];
    }),
  );

/** Whether claims that name no class may get this one; said by either annotation. */
export const isDefaultStorageClass = ({ metadata: { annotations = {} } }: ApiObject, { domain }: Dialect): boolean =>
  ['', 'beta.'].some((stage) => annotations[`storageclass.${stage}${domain}/is-default-class`] === 'true');

/** A class for claims that name none is marked in the column of names. */
function shownName(object: ApiObject, dialect: Dialect): string {
  const { name = '' } = object.metadata;
  return isDefaultStorageClass(object, dialect) ? `${name} (default)` : name;
}

const columns = (dialect: Dialect): Column[] => [
  column('Name', 'Name of the object.', (object) => shownName(object, dialect), { format: 'name' }),
  column('Provisioner', 'Name of the driver that makes the volumes.', '.provisioner'),
  column('ReclaimPolicy', 'What becomes of a volume after its claim.', '.reclaimPolicy', { absent: 'Delete' }),
  column('VolumeBindingMode', 'When volumes are made and bound.', '.volumeBindingMode', { absent: 'Immediate' }),
  column('AllowVolumeExpansion', 'Whether claims may ask for more later.', '.allowVolumeExpansion', { absent: false }),
  ageColumn,
];

export const storageClass = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('storage'),
    kind: 'StorageClass',
    resource: 'storageclasses',
    shortNames: ['sc'],
    scope: 'Cluster',
    schema,
    columns: columns(dialect),
    deleteReturnsObject: true,
    strategy: { validateCreate: validate, validateUpdate, warnings: (object) => warnings(object, dialect) },
  });
