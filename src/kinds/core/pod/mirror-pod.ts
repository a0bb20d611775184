import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { type FieldError, forbidden } from '../../../meta/field-error.ts';

/** The annotation of mirror pods, with any value. */
export const mirrorAnnotation = ({ domain }: Dialect): string => `${domain}/config.mirror`;

/** True for a mirror pod, which a kubelet creates to represent a static pod. It is not scheduled and must not change. */
export const isMirrorPod = ({ metadata }: ApiObject, dialect: Dialect): boolean =>
  metadata.annotations?.[mirrorAnnotation(dialect)] !== undefined;

/** The mirror annotation is immutable, because a node's permissions on the pod depend on it. */
export function validateMirrorUpdate(object: ApiObject, old: ApiObject, dialect: Dialect): readonly FieldError[] {
  const annotation = mirrorAnnotation(dialect);
  const [value, oldValue] = [object.metadata.annotations?.[annotation], old.metadata.annotations?.[annotation]];
  if (value === oldValue) return [];
  const detail =
    oldValue === undefined ? 'may not add mirror pod annotation' : 'may not remove or update mirror pod annotation';
  return [forbidden(annotationField(dialect), detail)];
}

const annotationField = (dialect: Dialect): string => `metadata.annotations[${mirrorAnnotation(dialect)}]`;
