import { anyObject, boolean, int64, list, map, optional, string, struct, time } from '../../schema/schema.ts';

const ownerReference = struct(
  'apimachinery.pkg.apis.meta.v1.OwnerReference',
  'Points at an object that this one belongs to and goes away with; owner and owned are in one namespace, or the owner is cluster-scoped.',
  {
    apiVersion: optional(5, string(), 'Group and version of the owner.', { presence: 'always' }),
    kind: optional(1, string(), 'Kind of the owner.', { presence: 'always' }),
    name: optional(3, string(), 'Name of the owner.', { presence: 'always' }),
    uid: optional(4, string(), 'UID of the owner.', { presence: 'always' }),
    controller: optional(6, boolean(), 'True for the one owner that manages this object.', { presence: 'explicit' }),
    blockOwnerDeletion: optional(
      7,
      boolean(),
      'True makes a foreground deletion of the owner wait until this object or this reference is gone.',
      { presence: 'explicit' },
    ),
  },
  { structType: 'atomic' },
);

const managedFieldsEntry = struct(
  'apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry',
  'The fields that one manager owns.',
  {
    manager: optional(1, string(), 'Name of the manager that owns the fields.'),
    operation: optional(2, string(), 'How the manager writes: `Apply` or `Update`.'),
    apiVersion: optional(3, string(), 'Group and version in which the fields are named.'),
    time: optional(4, time(), 'When the manager last changed the set of its fields.', { presence: 'explicit' }),
    fieldsType: optional(6, string(), 'Format of the field set: always `FieldsV1`.'),
    fieldsV1: optional(7, anyObject(), 'The owned fields as a tree of field names, list keys and list values.', {
      presence: 'explicit',
    }),
    subresource: optional(8, string(), 'Subresource that the manager writes through; empty for the object itself.'),
  },
);

/** ObjectMeta, complete (spec section 2.1). Limits and formats are checked in `metadata-validation.ts`. */
export const objectMeta = struct(
  'apimachinery.pkg.apis.meta.v1.ObjectMeta',
  'What every stored object carries beside its own fields.',
  {
    name: optional(1, string(), 'Name of the object, unique for its kind within its namespace; it cannot change.'),
    generateName: optional(
      2,
      string(),
      'Prefix from which the server makes a unique name when the object is created without one.',
    ),
    namespace: optional(3, string(), 'Namespace that the object is in; empty for cluster-scoped kinds.'),
    selfLink: optional(4, string(), 'No longer filled in.', { deprecated: true }),
    uid: optional(5, string(), 'Identity of this object, never given to another one; set by the server.'),
    resourceVersion: optional(
      6,
      string(),
      'Opaque version of the object, for comparing and for writes that must not overwrite a newer state.',
    ),
    generation: optional(7, int64(), 'Counts the changes of the desired state, for kinds that keep count.'),
    creationTimestamp: optional(8, time(), 'When the object was created; set by the server.', { presence: 'always' }),
    deletionTimestamp: optional(
      9,
      time(),
      'When the deletion of the object was asked for, or is due; set by the server.',
      {
        presence: 'explicit',
      },
    ),
    deletionGracePeriodSeconds: optional(10, int64(), 'Seconds that a graceful deletion waits; set by the server.', {
      presence: 'explicit',
    }),
    labels: optional(11, map(string()), 'Short keys and values by which selectors find the object.'),
    annotations: optional(12, map(string()), 'Keys and values that tools attach to the object; not selectable.'),
    ownerReferences: optional(
      13,
      list(ownerReference, { patchStrategy: 'merge', patchMergeKey: 'uid', duplicatesAllowed: true }),
      'Objects that this one belongs to; when all of them are gone, it is deleted.',
    ),
    finalizers: optional(
      14,
      list(string(), { patchStrategy: 'merge', duplicatesAllowed: true }),
      'Names of those who clean up before the object may go; it is removed when the list is empty.',
    ),
    managedFields: optional(17, list(managedFieldsEntry), 'Which manager owns which fields; kept by the server.'),
  },
);
