import type { Problem } from '../../../schema/markers.ts';
import { boolean, type Infer, inline, optional, quantity, required, string, struct } from '../../../schema/schema.ts';
import { localObjectReference } from '../references.ts';

const choice = (detail: string): Problem => ({ type: 'invalid', detail });

export const objectFieldSelector = struct(
  'api.core.v1.ObjectFieldSelector',
  'Points at a field of the object that it stands in.',
  {
    apiVersion: optional(1, string(), 'API version in which the path is to be read.', { default: 'v1' }),
    fieldPath: required(2, string(), 'Path of the field.'),
  },
  { structType: 'atomic' },
);

export const resourceFieldSelector = struct(
  'api.core.v1.ResourceFieldSelector',
  'Points at a computing resource of a container.',
  {
    containerName: optional(1, string(), 'Container to look at; required in volumes.'),
    resource: required(2, string(), 'Resource to read, such as `limits.cpu` or `requests.memory`.'),
    divisor: optional(3, quantity(), 'Unit that the value is given in.', { presence: 'always', default: '0' }),
  },
  { structType: 'atomic' },
);

const configMapKeySelector = struct(
  'api.core.v1.ConfigMapKeySelector',
  'An entry of a config map in the same namespace.',
  {
    ...inline(1, localObjectReference),
    key: required(2, string(), 'Key of the entry.'),
    optional: optional(3, boolean(), 'Whether the config map or the entry may be missing.', { presence: 'explicit' }),
  },
  { structType: 'atomic' },
);

const secretKeySelector = struct(
  'api.core.v1.SecretKeySelector',
  'An entry of a secret in the same namespace.',
  {
    ...inline(1, localObjectReference),
    key: required(2, string(), 'Key of the entry; it must be a valid secret key.'),
    optional: optional(3, boolean(), 'Whether the secret or the entry may be missing.', { presence: 'explicit' }),
  },
  { structType: 'atomic' },
);

const envVarSource = struct(
  'api.core.v1.EnvVarSource',
  'Source of the value of an environment variable; exactly one is set.',
  {
    fieldRef: optional(1, objectFieldSelector, 'Field of the pod, such as `metadata.name` or `status.podIP`.', {
      presence: 'explicit',
    }),
    resourceFieldRef: optional(2, resourceFieldSelector, 'Resource request or limit of a container.', {
      presence: 'explicit',
    }),
    configMapKeyRef: optional(3, configMapKeySelector, 'Entry of a config map.', { presence: 'explicit' }),
    secretKeyRef: optional(4, secretKeySelector, 'Entry of a secret.', { presence: 'explicit' }),
  },
  {
    union: {
      fields: ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef'],
      none: choice('must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`'),
      several: choice('may not have more than one field specified at a time'),
    },
  },
);

export const envVar = struct('api.core.v1.EnvVar', 'An environment variable of a container.', {
  name: required(1, string(), 'Name of the variable.'),
  value: optional(2, string(), 'Its value, in which `$(NAME)` stands for a variable set before.'),
  valueFrom: optional(3, envVarSource, 'Where the value comes from; not together with `value`.', {
    presence: 'explicit',
  }),
});

const configMapEnvSource = struct(
  'api.core.v1.ConfigMapEnvSource',
  'A config map in the same namespace, as a source of environment variables.',
  {
    ...inline(1, localObjectReference),
    optional: optional(2, boolean(), 'Whether the config map may be missing.', { presence: 'explicit' }),
  },
);

const secretEnvSource = struct(
  'api.core.v1.SecretEnvSource',
  'A secret in the same namespace, as a source of environment variables.',
  {
    ...inline(1, localObjectReference),
    optional: optional(2, boolean(), 'Whether the secret may be missing.', { presence: 'explicit' }),
  },
);

export const envFromSource = struct(
  'api.core.v1.EnvFromSource',
  'A config map or secret of which every entry becomes an environment variable.',
  {
    prefix: optional(1, string(), 'Text put before each name.'),
    configMapRef: optional(2, configMapEnvSource, 'Config map to take the entries from.', { presence: 'explicit' }),
    secretRef: optional(3, secretEnvSource, 'Secret to take the entries from.', { presence: 'explicit' }),
  },
  {
    union: {
      fields: ['configMapRef', 'secretRef'],
      none: choice('must specify one of: `configMapRef` or `secretRef`'),
      several: choice('may not have more than one field specified at a time'),
    },
  },
);

export type EnvVar = Infer<typeof envVar>;

export type EnvFromSource = Infer<typeof envFromSource>;

export type ObjectFieldSelector = Infer<typeof objectFieldSelector>;

export type ResourceFieldSelector = Infer<typeof resourceFieldSelector>;
