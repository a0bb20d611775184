import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { duplicate, errorsOfEach, type FieldError, invalid, invalidTexts, notSupportedOf } from '../../meta/field-error.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { always, bool, type Infer, int64, list, opt, ptr, string, struct, undocumentedEnum } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, none } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const tokenRequest = struct('api.storage.v1.TokenRequest', 'A token of the service account of a pod.', {
  audience: always(1, string(), 'For whom the token is; the API server where it is empty.'),
  expirationSeconds: ptr(2, int64(), 'Seconds that the token lives.'),
});

const csiDriverSpec = struct('api.storage.v1.CSIDriverSpec', 'What a driver can do, and needs.', {
  attachRequired: ptr(1, bool(), 'Whether volumes have to be attached to a node before they are mounted.', { default: true }),
  podInfoOnMount: ptr(2, bool(), 'Whether the driver is told which pod it mounts a volume for.', { default: false }),
  volumeLifecycleModes: opt(3, list(string(), { listType: 'set', duplicatesAllowed: true }), 'How long its volumes live: `Persistent`, or `Ephemeral` as their pod.', { default: ['Persistent'] }),
  storageCapacity: ptr(4, bool(), 'Whether pods are placed by the capacities that the driver reports.', { default: false }),
  fsGroupPolicy: ptr(5, undocumentedEnum('ReadWriteOnceWithFSType', 'File', 'None'), 'Whether ownership and permissions of its volumes may be changed.', { default: 'ReadWriteOnceWithFSType' }),
  tokenRequests: opt(6, list(tokenRequest), 'Tokens of the service account of a pod that the driver gets with a mount.'),
  requiresRepublish: ptr(7, bool(), 'Whether a mount is repeated now and then, so that its content is renewed.', { default: false }),
  seLinuxMount: ptr(8, bool(), 'Whether its volumes can be mounted with a security context.', { default: false }),
});

const schema = kindSchema('api.storage.v1.CSIDriver', 'A driver of the container storage interface, by its name.', {
  spec: always(2, csiDriverSpec, 'What the driver can do, and needs.', { documented: 'required' }),
});

type Spec = Infer<typeof csiDriverSpec>;

const specOf = (object: ApiObject): Spec => typed(schema, object).spec ?? {};

const lifecycleModes = ['Persistent', 'Ephemeral'];
const expirationSecondsMin = 600;
const expirationSecondsMax = 2 ** 32;

function validate(object: ApiObject): FieldError[] {
  const { tokenRequests = [], volumeLifecycleModes = [] } = specOf(object);
  const audiences = new Set<string>();
  return [
    ...errorsOfEach(tokenRequests, ({ audience = '', expirationSeconds }, index) => {
      const at = `spec.tokenRequests[${index}]`;
      if (audiences.has(audience)) return [duplicate(`${at}.audience`, audience)];
      audiences.add(audience);
      return validateExpiration(expirationSeconds, `${at}.expirationSeconds`);
    }),
    ...errorsOfEach(volumeLifecycleModes, (mode) => (lifecycleModes.includes(mode) ? [] : [notSupportedOf('spec.volumeLifecycleModes', mode, lifecycleModes)])),
  ];
}

function validateExpiration(seconds: number | undefined, field: string): FieldError[] {
  if (seconds === undefined) return [];
  if (seconds < expirationSecondsMin) return [invalid(field, seconds, 'may not specify a duration less than 10 minutes')];
  return seconds > expirationSecondsMax ? [invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds')] : [];
}

function validateUpdate(object: ApiObject, old: ApiObject): FieldError[] {
  const [spec, before] = [specOf(object), specOf(old)];
  const errors = validate(object);
  // The published path of this field has another spelling.
  if (spec.attachRequired !== before.attachRequired) errors.push(invalid('spec.attachedRequired', spec.attachRequired ?? null, 'field is immutable'));
  if (!equalValues(spec.volumeLifecycleModes ?? [], before.volumeLifecycleModes ?? []))
    errors.push(invalidTexts('spec.volumeLifecycleModes', spec.volumeLifecycleModes ?? [], 'field is immutable', 'storage.VolumeLifecycleMode'));
  return errors;
}

/** A driver starts without a generation; changes of its spec are counted. */
function countGeneration(object: ApiObject, old: ApiObject): void {
  if (!equalValues(specOf(object), specOf(old))) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

const shownRequests = (object: ApiObject): string =>
  specOf(object)
    .tokenRequests?.map(({ audience = '' }) => audience)
    .join(',') ?? '<unset>';

export const csiDriver = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('storage'),
    kind: 'CSIDriver',
    scope: 'Cluster',
    schema,
    columns: [
      nameColumn,
      column('AttachRequired', 'Whether volumes have to be attached.', '.spec.attachRequired', { type: 'boolean', absent: true }),
      column('PodInfoOnMount', 'Whether the driver is told of pods.', '.spec.podInfoOnMount', { type: 'boolean', absent: false }),
      column('StorageCapacity', 'Whether pods are placed by reported capacities.', '.spec.storageCapacity', { type: 'boolean', absent: false }),
      column('TokenRequests', 'For whom the tokens are that the driver gets.', shownRequests),
      column('RequiresRepublish', 'Whether mounts are repeated.', '.spec.requiresRepublish', { type: 'boolean', absent: false }),
      column('Modes', 'How long its volumes live.', (object) => specOf(object).volumeLifecycleModes?.join(',') || none),
      ageColumn,
    ],
    strategy: { validateCreate: validate, prepareForUpdate: countGeneration, validateUpdate },
    deleteReturnsObject: true,
    unconditionalUpdate: false,
  });
