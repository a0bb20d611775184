import type { ApiObject } from '../../meta/api-object.ts';
import { always, documentedEnum, type Infer, list, map, mergeList, opt, ptr, quantity, string, struct, time } from '../../schema/schema.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { persistentVolumeClaimSpec } from './pod/volumes/claim-volumes.ts';

const condition = struct('api.core.v1.PersistentVolumeClaimCondition', 'One aspect of the state of a claim.', {
  type: always(1, string(), 'Name of the aspect.'),
  status: always(2, string(), '`True`, `False` or `Unknown`.'),
  lastProbeTime: always(3, time(), 'When the aspect was last looked at.'),
  lastTransitionTime: always(4, time(), 'When the status last changed.'),
  reason: opt(5, string(), 'Machine-readable reason of the last change.'),
  message: opt(6, string(), 'The reason in words.'),
});

const modifyVolumeStatus = struct('api.core.v1.ModifyVolumeStatus', 'How far a change of the volume attributes class is.', {
  targetVolumeAttributesClassName: opt(1, string(), 'Class that the volume is being given.'),
  status: always(2, documentedEnum('InProgress', 'Infeasible', 'Pending'), '`Pending`, `InProgress` or `Infeasible`.'),
});

const status = struct('api.core.v1.PersistentVolumeClaimStatus', 'What a claim was given.', {
  phase: opt(1, documentedEnum('Bound', 'Lost', 'Pending'), '`Pending`, `Bound`, or `Lost` when its volume is gone.', { default: 'Pending' }),
  accessModes: opt(2, list(documentedEnum('ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod')), 'Ways in which the volume can be mounted.'),
  capacity: opt(3, map(quantity()), 'Storage of the volume.'),
  conditions: opt(4, mergeList('type', condition, { duplicatesAllowed: true }), 'What is known of the state.'),
  allocatedResources: opt(5, map(quantity()), 'Storage that is set aside, while a volume grows.'),
  allocatedResourceStatuses: opt(
    7,
    map(documentedEnum('ControllerResizeInProgress', 'ControllerResizeInfeasible', 'NodeResizeInProgress', 'NodeResizeInfeasible', 'NodeResizePending')),
    'How far the growth of each kind of storage is.',
  ),
  currentVolumeAttributesClassName: ptr(8, string(), 'Volume attributes class that the volume has.', { gate: 'VolumeAttributesClass' }),
  modifyVolumeStatus: ptr(9, modifyVolumeStatus, 'A change of the volume attributes class that is under way.', { gate: 'VolumeAttributesClass' }),
});

/** The complete PersistentVolumeClaim, which templates hold too. */
export const persistentVolumeClaimSchema = kindSchema('api.core.v1.PersistentVolumeClaim', 'Asks for storage, for pods of its namespace.', {
  spec: always(2, persistentVolumeClaimSpec, 'What storage is asked for.'),
  status: always(3, status, 'What was given.'),
});

export type PersistentVolumeClaim = Infer<typeof persistentVolumeClaimSchema>;

/** Casts a decoded claim to its static type. */
export const asClaim = (object: ApiObject): PersistentVolumeClaim => typed(persistentVolumeClaimSchema, object);
