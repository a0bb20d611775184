import { optional, string, struct } from '../../schema/schema.ts';

export const localObjectReference = struct(
  'api.core.v1.LocalObjectReference',
  'Points at an object of a known kind in the same namespace.',
  { name: optional(1, string(), 'Name of the object.', { default: '' }) },
  { structType: 'atomic' },
);

export const objectReference = struct(
  'api.core.v1.ObjectReference',
  'Points at any object, or at a part of it.',
  {
    kind: optional(1, string(), 'Kind of the object.'),
    namespace: optional(2, string(), 'Namespace of the object.'),
    name: optional(3, string(), 'Name of the object.'),
    uid: optional(4, string(), 'UID of the object.'),
    apiVersion: optional(5, string(), 'Group and version of the object.'),
    resourceVersion: optional(6, string(), 'The version of the object that is meant.'),
    fieldPath: optional(7, string(), 'The part of the object that is meant, such as `spec.containers{name}`.'),
  },
  { structType: 'atomic' },
);

export const secretReference = struct(
  'api.core.v1.SecretReference',
  'Points at a Secret in any namespace.',
  {
    name: optional(1, string(), 'Name of the Secret.'),
    namespace: optional(2, string(), 'Namespace of the Secret.'),
  },
  { structType: 'atomic' },
);

export const typedLocalObjectReference = struct(
  'api.core.v1.TypedLocalObjectReference',
  'Points at an object of any kind in the same namespace.',
  {
    apiGroup: optional(1, string(), 'Group of the object; absent for the core group.', { presence: 'explicit' }),
    kind: optional(2, string(), 'Kind of the object.', { presence: 'always' }),
    name: optional(3, string(), 'Name of the object.', { presence: 'always' }),
  },
  { structType: 'atomic' },
);

export const typedObjectReference = struct(
  'api.core.v1.TypedObjectReference',
  'Points at an object of any kind, in any namespace.',
  {
    apiGroup: optional(1, string(), 'Group of the object; absent for the core group.', { presence: 'explicit' }),
    kind: optional(2, string(), 'Kind of the object.', { presence: 'always' }),
    name: optional(3, string(), 'Name of the object.', { presence: 'always' }),
    namespace: optional(4, string(), 'Namespace of the object; absent for the one of the referrer.', {
      presence: 'explicit',
    }),
  },
);
