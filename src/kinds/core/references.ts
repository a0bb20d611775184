import { always, opt, ptr, string, struct } from '../../schema/schema.ts';

export const localObjectReference = struct(
  'api.core.v1.LocalObjectReference',
  'Points at an object of a known kind in the same namespace.',
  { name: opt(1, string(), 'Name of the object.', { default: '' }) },
  { structType: 'atomic' },
);

export const objectReference = struct(
  'api.core.v1.ObjectReference',
  'Points at any object, or at a part of it.',
  {
    kind: opt(1, string(), 'Kind of the object.'),
    namespace: opt(2, string(), 'Namespace of the object.'),
    name: opt(3, string(), 'Name of the object.'),
    uid: opt(4, string(), 'UID of the object.'),
    apiVersion: opt(5, string(), 'Group and version of the object.'),
    resourceVersion: opt(6, string(), 'The version of the object that is meant.'),
    fieldPath: opt(7, string(), 'The part of the object that is meant, such as `spec.containers{name}`.'),
  },
  { structType: 'atomic' },
);

export const typedLocalObjectReference = struct(
  'api.core.v1.TypedLocalObjectReference',
  'Points at an object of any kind in the same namespace.',
  {
    apiGroup: ptr(1, string(), 'Group of the object; absent for the core group.'),
    kind: always(2, string(), 'Kind of the object.'),
    name: always(3, string(), 'Name of the object.'),
  },
  { structType: 'atomic' },
);

export const typedObjectReference = struct('api.core.v1.TypedObjectReference', 'Points at an object of any kind, in any namespace.', {
  apiGroup: ptr(1, string(), 'Group of the object; absent for the core group.'),
  kind: always(2, string(), 'Kind of the object.'),
  name: always(3, string(), 'Name of the object.'),
  namespace: ptr(4, string(), 'Namespace of the object; absent for the one of the referrer.'),
});
