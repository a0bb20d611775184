import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { duplicate, errorsOfEach, type FieldError, invalid, notSupported, required, tooLong } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { always, type Infer, mergeList, opt, string, struct, time } from '../../schema/schema.ts';
import { column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { reasonErrors } from '../meta/condition.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { clearStatus } from '../meta/status-view.ts';
import { typed } from '../typed.ts';

const prefix = 'api.storagemigration.v1alpha1';

const resource = struct(`${prefix}.GroupVersionResource`, 'A resource in a version.', {
  group: opt(1, string(), 'Name of the group.'),
  version: opt(2, string(), 'Name of the version.'),
  resource: opt(3, string(), 'Name of the resource.'),
});

const spec = struct(`${prefix}.StorageVersionMigrationSpec`, 'What is migrated.', {
  resource: always(1, resource, 'The resource whose objects are written again; immutable.', { documented: 'required' }),
  continueToken: opt(2, string(), 'Where the migration goes on.'),
});

const condition = struct(`${prefix}.MigrationCondition`, 'One aspect of the state of a migration.', {
  type: always(1, string(), '`Running`, `Succeeded` or `Failed`.'),
  status: always(2, string(), '`True`, `False` or `Unknown`.'),
  lastUpdateTime: always(3, time(), 'When the condition was last written.'),
  reason: opt(4, string(), 'Machine-readable reason of the last change.'),
  message: opt(5, string(), 'The reason in words.'),
});

const status = struct(`${prefix}.StorageVersionMigrationStatus`, 'How far a migration is.', {
  conditions: opt(1, mergeList('type', condition, { duplicatesAllowed: true }), 'What is known of the state.'),
  resourceVersion: opt(2, string(), 'Objects up to this version are migrated.'),
});

const schema = kindSchema(`${prefix}.StorageVersionMigration`, 'Writes all objects of a resource again, in the version to be stored.', {
  spec: always(2, spec, 'What is migrated.'),
  status: always(3, status, 'How far the migration is.'),
});

type Status = Infer<typeof status>;

const resourceOf = (object: ApiObject) => typed(schema, object).spec?.resource ?? {};
const statusOf = (object: ApiObject): Status => typed(schema, object).status ?? {};

function validate(object: ApiObject): FieldError[] {
  const { version = '', resource: name = '' } = resourceOf(object);
  return [...(name === '' ? [required('spec.resource.resource', 'resource is required')] : []), ...(version === '' ? [required('spec.resource.version', 'version is required')] : [])];
}

/** Published without the path to the fields. */
function validateUpdate(object: ApiObject, old: ApiObject): FieldError[] {
  const [next, before] = [resourceOf(object), resourceOf(old)];
  const changed = (['group', 'version', 'resource'] as const).filter((name) => (next[name] ?? '') !== (before[name] ?? ''));
  return [...validate(object), ...changed.map((name) => invalid(name, next[name] ?? '', 'field is immutable'))];
}

const holds = ({ conditions = [] }: Status, wanted: string): boolean => conditions.find(({ type }) => type === wanted)?.status === 'True';

function validateStatus(object: ApiObject, old: ApiObject): FieldError[] {
  const [next, before] = [statusOf(object), statusOf(old)];
  const { conditions = [] } = next;
  const [running, succeeded, failed] = ['Running', 'Succeeded', 'Failed'].map((type) => holds(next, type));
  const refused = (wrong: boolean | undefined, why: string): FieldError[] => (wrong ? [invalid('status.conditions', conditions, why)] : []);
  return [
    ...validateResourceVersion(next.resourceVersion ?? '', before.resourceVersion ?? ''),
    ...validateConditions(conditions),
    ...refused(succeeded && failed, 'Both success and failed conditions cannot be true at the same time'),
    ...refused(succeeded && running, 'Running condition cannot be true when success condition is true'),
    ...refused(failed && running, 'Running condition cannot be true when failed condition is true'),
    ...refused(holds(before, 'Succeeded') && !succeeded, 'Success condition cannot be set to false once it is true'),
    ...refused(holds(before, 'Failed') && !failed, 'Failed condition cannot be set to false once it is true'),
  ];
}

function validateResourceVersion(text: string, before: string): FieldError[] {
  const path = 'status.resourceVersion';
  const shown = JSON.stringify(text);
  const parsing = `failed to parse resource version ${shown}: strconv.ParseInt: parsing ${shown}`;
  const isInteger = text === '' || /^[+-]?\d+$/.test(text);
  const fits = isInteger && text.length <= 20 && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
  return [
    ...(isInteger ? [] : [invalid(path, text, `${parsing}: invalid syntax`)]),
    ...(isInteger && !fits ? [invalid(path, text, `${parsing}: value out of range`)] : []),
    ...(fits && Number(text) < 0 ? [invalid(path, Number(text), 'must be greater than or equal to 0')] : []),
    ...(before !== '' && before !== text ? [invalid(path, text, 'resourceVersion cannot be updated')] : []),
  ];
}

const statuses = ['True', 'False', 'Unknown'];

function validateConditions(conditions: NonNullable<Status['conditions']>): FieldError[] {
  const types = new Set<string>();
  return errorsOfEach(conditions, ({ type = '', status: state = '', lastUpdateTime, reason = '', message = '' }, index) => {
    const path = `status.conditions[${index}]`;
    const repeated = types.has(type);
    types.add(type);
    return [
      ...(repeated ? [duplicate(`${path}.type`, type)] : []),
      ...isQualifiedName(type).map((problem) => invalid(`${path}.type`, type, problem)),
      ...(statuses.includes(state) ? [] : [notSupported(`${path}.status`, state, statuses)]),
      ...(lastUpdateTime ? [] : [required(`${path}.lastTransitionTime`, 'must be set')]),
      ...reasonErrors(reason, `${path}.reason`),
      ...(Buffer.byteLength(message) > limits.conditionMessageMax ? [tooLong(`${path}.message`, limits.conditionMessageMax)] : []),
    ];
  });
}

function shownResource(object: ApiObject): string {
  const { group = '', version = '', resource: name = '' } = resourceOf(object);
  return `${name}.${version}.${group}`;
}

/** StorageVersionMigration (KEP-4192). Alpha, and so off by default. */
export const storageVersionMigration = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('storagemigration'),
    version: 'v1alpha1',
    kind: 'StorageVersionMigration',
    scope: 'Cluster',
    schema,
    offByDefault: true,
    columns: [nameColumn, column('Resource', 'The resource that is migrated.', shownResource)],
    strategy: { prepareForCreate: clearStatus(schema), validateCreate: validate, validateUpdate },
    subresources: [{ type: 'view', name: 'status', verbs: ['get', 'update', 'patch'], fields: ['status'], resetFields: [['spec'], ['metadata']], validateUpdate: validateStatus }],
    unconditionalUpdate: false,
  });
