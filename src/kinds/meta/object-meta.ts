import { always, anyObject, bool, int64, list, map, mergeList, opt, ptr, string, struct, time } from '../../schema/schema.ts';

export const ownerReference = struct(
  'apimachinery.pkg.apis.meta.v1.OwnerReference',
  'Points at an object that this one belongs to and goes away with; owner and owned are in one namespace, or the owner is cluster-scoped.',
  {
    apiVersion: always(5, string(), 'Group and version of the owner.'),
    kind: always(1, string(), 'Kind of the owner.'),
    name: always(3, string(), 'Name of the owner.'),
    uid: always(4, string(), 'UID of the owner.'),
    controller: ptr(6, bool(), 'True for the one owner that manages this object.'),
    blockOwnerDeletion: ptr(7, bool(), 'True makes a foreground deletion of the owner wait until this object or this reference is gone.'),
  },
  { structType: 'atomic' },
);

const managedFieldsEntry = struct('apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry', 'The fields that one manager owns.', {
  manager: opt(1, string(), 'Name of the manager that owns the fields.'),
  operation: opt(2, string(), 'How the manager writes: `Apply` or `Update`.'),
  apiVersion: opt(3, string(), 'Group and version in which the fields are named.'),
  time: ptr(4, time(), 'When the manager last changed the set of its fields.'),
  fieldsType: opt(6, string(), 'Format of the field set: always `FieldsV1`.'),
  fieldsV1: ptr(7, anyObject({ name: 'apimachinery.pkg.apis.meta.v1.FieldsV1' }), 'The owned fields as a tree of field names, list keys and list values.'),
  subresource: opt(8, string(), 'Subresource that the manager writes through; empty for the object itself.'),
});

/** The complete ObjectMeta (spec section 2.1). `metadata-validation.ts` checks limits and formats. */
export const objectMeta = struct('apimachinery.pkg.apis.meta.v1.ObjectMeta', 'What every stored object carries beside its own fields.', {
  name: opt(1, string(), 'Name of the object, unique for its kind within its namespace; it cannot change.'),
  generateName: opt(2, string(), 'Prefix from which the server makes a unique name when the object is created without one.'),
  namespace: opt(3, string(), 'Namespace that the object is in; empty for cluster-scoped kinds.'),
  selfLink: opt(4, string(), 'No longer filled in.', { deprecated: true }),
  uid: opt(5, string(), 'Identity of this object, never given to another one; set by the server.'),
  resourceVersion: opt(6, string(), 'Opaque version of the object, for comparing and for writes that must not overwrite a newer state.'),
  generation: opt(7, int64(), 'Counts the changes of the desired state, for kinds that keep count.'),
  creationTimestamp: always(8, time(), 'When the object was created; set by the server.'),
  deletionTimestamp: ptr(9, time(), 'When the deletion of the object was asked for, or is due; set by the server.'),
  deletionGracePeriodSeconds: ptr(10, int64(), 'Seconds that a graceful deletion waits; set by the server.'),
  labels: opt(11, map(string()), 'Short keys and values by which selectors find the object.'),
  annotations: opt(12, map(string()), 'Keys and values that tools attach to the object; not selectable.'),
  ownerReferences: opt(13, mergeList('uid', ownerReference, { duplicatesAllowed: true }), 'Objects that this one belongs to; when all of them are gone, it is deleted.'),
  finalizers: opt(14, list(string(), { patchStrategy: 'merge', duplicatesAllowed: true }), 'Names of those who clean up before the object may go; it is removed when the list is empty.'),
  managedFields: opt(17, list(managedFieldsEntry), 'Which manager owns which fields; kept by the server.'),
});
