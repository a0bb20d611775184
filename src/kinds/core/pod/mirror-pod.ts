import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { type FieldError, forbidden, invalid } from '../../../meta/field-error.ts';
import { asPod } from './pod-schema.ts';

/** The annotation of pods that a node's agent makes to show what it runs without the server; any value counts. */
export const mirrorAnnotation = ({ domain }: Dialect): string => `${domain}/config.mirror`;

/** Made by a node's agent to show a pod that runs without the server: nobody schedules it, and it must stay as it is. */
export const isMirrorPod = ({ metadata }: ApiObject, dialect: Dialect): boolean =>
  metadata.annotations?.[mirrorAnnotation(dialect)] !== undefined;

/** Only a pod that has a node can be one that the node made. */
export function validateMirrorCreate(object: ApiObject, dialect: Dialect): readonly FieldError[] {
  if (!isMirrorPod(object, dialect) || asPod(object).spec?.nodeName) return [];
  const value = object.metadata.annotations?.[mirrorAnnotation(dialect)];
  return [invalid(annotationField(dialect), value, 'must set spec.nodeName if mirror pod annotation is set')];
}

/** A pod becomes no mirror pod, and stays one: what a node is entitled to, and what it may delete, depends on it. */
export function validateMirrorUpdate(object: ApiObject, old: ApiObject, dialect: Dialect): readonly FieldError[] {
  const annotation = mirrorAnnotation(dialect);
  const [value, oldValue] = [object.metadata.annotations?.[annotation], old.metadata.annotations?.[annotation]];
  if (value === oldValue) return [];
  const detail =
    oldValue === undefined ? 'may not add mirror pod annotation' : 'may not remove or update mirror pod annotation';
  return [forbidden(annotationField(dialect), detail)];
}

const annotationField = (dialect: Dialect): string => `metadata.annotations[${mirrorAnnotation(dialect)}]`;
