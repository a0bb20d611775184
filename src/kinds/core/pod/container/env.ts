import { always, bool, type Infer, inline, opt, ptr, quantity, req, string, struct } from '../../../../schema/schema.ts';
import { localObjectReference } from '../../references.ts';

export const objectFieldSelector = struct(
  'api.core.v1.ObjectFieldSelector',
  'Points at a field of the object that it stands in.',
  {
    apiVersion: opt(1, string(), 'API version in which the path is to be read.', { default: 'v1' }),
    fieldPath: always(2, string(), 'Path of the field.'),
  },
  { structType: 'atomic' },
);

export const resourceFieldSelector = struct(
  'api.core.v1.ResourceFieldSelector',
  'Points at a computing resource of a container.',
  {
    containerName: opt(1, string(), 'Container to look at; required in volumes.'),
    resource: always(2, string(), 'Resource to read, such as `limits.cpu` or `requests.memory`.'),
    divisor: always(3, quantity(), 'Unit that the value is given in.', { default: '0' }),
  },
  { structType: 'atomic' },
);

const configMapKeySelector = struct(
  'api.core.v1.ConfigMapKeySelector',
  'An entry of a config map in the same namespace.',
  {
    ...inline(1, localObjectReference),
    key: req(2, string(), 'Key of the entry.'),
    optional: ptr(3, bool(), 'Whether the config map or the entry may be missing.'),
  },
  { structType: 'atomic' },
);

const secretKeySelector = struct(
  'api.core.v1.SecretKeySelector',
  'An entry of a secret in the same namespace.',
  {
    ...inline(1, localObjectReference),
    key: req(2, string(), 'Key of the entry; it must be a valid secret key.'),
    optional: ptr(3, bool(), 'Whether the secret or the entry may be missing.'),
  },
  { structType: 'atomic' },
);

const envVarSource = struct('api.core.v1.EnvVarSource', 'Source of the value of an environment variable; exactly one is set.', {
  fieldRef: ptr(1, objectFieldSelector, 'Field of the pod, such as `metadata.name` or `status.podIP`.'),
  resourceFieldRef: ptr(2, resourceFieldSelector, 'Resource request or limit of a container.'),
  configMapKeyRef: ptr(3, configMapKeySelector, 'Entry of a config map.'),
  secretKeyRef: ptr(4, secretKeySelector, 'Entry of a secret.'),
});

export const envVar = struct('api.core.v1.EnvVar', 'An environment variable of a container.', {
  name: req(1, string(), 'Name of the variable.'),
  value: opt(2, string(), 'Its value, in which `$(NAME)` stands for a variable set before.'),
  valueFrom: ptr(3, envVarSource, 'Where the value comes from; not together with `value`.'),
});

const configMapEnvSource = struct('api.core.v1.ConfigMapEnvSource', 'A config map in the same namespace, as a source of environment variables.', {
  ...inline(1, localObjectReference),
  optional: ptr(2, bool(), 'Whether the config map may be missing.'),
});

const secretEnvSource = struct('api.core.v1.SecretEnvSource', 'A secret in the same namespace, as a source of environment variables.', {
  ...inline(1, localObjectReference),
  optional: ptr(2, bool(), 'Whether the secret may be missing.'),
});

export const envFromSource = struct(
  'api.core.v1.EnvFromSource',
  'A config map or secret of which every entry becomes an environment variable.',
  {
    prefix: opt(1, string(), 'Text put before each name.'),
    configMapRef: ptr(2, configMapEnvSource, 'Config map to take the entries from.'),
    secretRef: ptr(3, secretEnvSource, 'Secret to take the entries from.'),
  },
  {},
);

export type EnvVar = Infer<typeof envVar>;

export type EnvFromSource = Infer<typeof envFromSource>;

export type ObjectFieldSelector = Infer<typeof objectFieldSelector>;

export type ResourceFieldSelector = Infer<typeof resourceFieldSelector>;
