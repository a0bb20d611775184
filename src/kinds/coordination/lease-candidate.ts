import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid, required } from '../../meta/field-error.ts';
import { isDataKey } from '../../meta/formats.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { compareSemanticVersions, readSemanticVersion } from '../../meta/semantic-version.ts';
import { always, microTime, opt, ptr, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { oldestEmulationVersion, validateStrategy } from './lease.ts';

const spec = struct('api.coordination.v1alpha2.LeaseCandidateSpec', 'What a candidate offers.', {
  leaseName: always(1, string(), 'Name of the lease.', { documented: 'required' }),
  pingTime: ptr(2, microTime(), 'When the candidate was last asked to renew.'),
  renewTime: ptr(3, microTime(), 'When the candidate last renewed.'),
  binaryVersion: always(4, string(), 'Version of the candidate, such as `1.32.0`.', { documented: 'required' }),
  emulationVersion: opt(5, string(), 'The version that the candidate behaves like.'),
  strategy: opt(6, string(), 'How a coordinated election picks the holder.', { documented: 'required' }),
});

const schema = kindSchema('api.coordination.v1alpha2.LeaseCandidate', 'Somebody who may come to hold a lease.', {
  spec: always(2, spec, 'What the candidate offers.'),
});

const zero = { numbers: [0n, 0n, 0n], prerelease: [] };

function validate(object: ApiObject): FieldError[] {
  const { leaseName = '', binaryVersion = '', emulationVersion = '', strategy = '' } = typed(schema, object).spec ?? {};
  const { name = '' } = object.metadata;
  const [binary, emulated] = [binaryVersion, emulationVersion].map(readSemanticVersion);
  const isBefore = binaryVersion !== '' && emulationVersion !== '' && compareSemanticVersions(binary ?? zero, emulated ?? zero) < 0;
  const needsEmulation = strategy === oldestEmulationVersion && compareSemanticVersions(emulated ?? zero, zero) === 0;
  return [
    ...isDataKey(name).map((problem) => invalid('metadata.name', name, problem)),
    ...(leaseName === '' ? [required('spec.leaseName')] : []),
    ...(emulationVersion !== '' && !emulated ? [invalid('spec.emulationVersion', emulationVersion, noVersion)] : []),
    ...(binaryVersion === '' ? [required('spec.binaryVersion')] : []),
    ...(binaryVersion !== '' && !binary ? [invalid('spec.binaryVersion', binaryVersion, noVersion)] : []),
    ...(isBefore ? [invalid('spec.binaryVersion', binaryVersion, 'must be greater than or equal to `emulationVersion`')] : []),
    ...(needsEmulation ? [required('spec.emulationVersion', "must be specified when `strategy` is 'OldestEmulationVersion'")] : []),
    ...(strategy === '' ? [required('spec.strategy')] : validateStrategy(strategy, 'spec.strategy')),
  ];
}

const noVersion = 'must be a valid semantic version';

function validateUpdate(object: ApiObject, old: ApiObject): FieldError[] {
  const [{ leaseName }, before] = [object, old].map((each) => typed(schema, each).spec ?? {}) as [{ leaseName?: string }, { leaseName?: string }];
  return [...validate(object), ...(leaseName === before.leaseName ? [] : [invalid('spec.leaseName', leaseName ?? '', 'field is immutable')])];
}

/** LeaseCandidate (KEP-4355). Alpha, and so off by default. */
export const leaseCandidate = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('coordination'),
    version: 'v1alpha2',
    kind: 'LeaseCandidate',
    nameFormat: 'pathSegment',
    schema,
    offByDefault: true,
    selectableFields: [selectable('spec.leaseName')],
    columns: [
      nameColumn,
      column('LeaseName', 'Name of the lease.', '.spec.leaseName'),
      column('BinaryVersion', 'Version of the candidate.', '.spec.binaryVersion'),
      column('EmulationVersion', 'The version that the candidate behaves like.', '.spec.emulationVersion'),
      ageColumn,
    ],
    strategy: { validateCreate: validate, validateUpdate },
    createOnUpdate: true,
    unconditionalUpdate: false,
  });
