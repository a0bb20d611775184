import { isDeepStrictEqual } from 'node:util';
import type { Dialect } from '../../../../dialect/dialect.ts';
import type { ApiObject } from '../../../../meta/api-object.ts';
import { errorsOfEach, type FieldError, forbidden, invalid } from '../../../../meta/field-error.ts';
import type { Container } from '../container/container.ts';
import { asPod } from '../pod-schema.ts';
import type { PodSpec } from '../pod-spec.ts';
import type { Toleration } from '../toleration.ts';
import { validatePodAnnotations } from './annotation-validation.ts';
import { validateGatedScheduling } from './gated-update-validation.ts';
import { validatePodSpec } from './pod-validation.ts';

/** The mutable fields of a pod's spec, for the error message. */
const updatable = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

/**
 * The spec of a pod is immutable except for images, a shorter deadline, added tolerations, and, while it has scheduling
 * gates, removed gates and narrower node requirements.
 */
export function validatePodUpdate(object: ApiObject, old: ApiObject, dialect: Dialect): readonly FieldError[] {
  const spec = asPod(object).spec ?? { containers: [] };
  const oldSpec = asPod(old).spec ?? { containers: [] };
  const [annotations, oldAnnotations] = [object.metadata.annotations ?? {}, old.metadata.annotations ?? {}];
  const errors = [
    ...validatePodAnnotations(annotations, spec, { path: 'metadata.annotations', dialect, old: oldAnnotations }),
    ...validatePodSpec(object, dialect),
  ];
  const changedLists = containerLists.filter((list) => (spec[list] ?? []).length !== (oldSpec[list] ?? []).length);
  if (changedLists.length > 0) {
    const detail = 'pod updates may not add or remove containers';
    return [...errors, ...changedLists.map((list) => forbidden(`spec.${list}`, detail))];
  }
  return [
    ...errors,
    ...validateDeadline(spec, oldSpec),
    ...validateAddedTolerations(spec, oldSpec),
    ...validateRemovedGates(spec, oldSpec),
    ...validateGatedScheduling(spec, oldSpec),
    ...validateUnchanged(spec, oldSpec),
  ];
}

const containerLists = ['containers', 'initContainers'] as const;

/** activeDeadlineSeconds may be set or decreased. */
function validateDeadline(spec: PodSpec, old: PodSpec): FieldError[] {
  const field = 'spec.activeDeadlineSeconds';
  const [next, last] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds];
  if (last === undefined || next === last) return [];
  if (next === undefined) return [invalid(field, null, 'must not update from a positive integer to nil value')];
  return next > last ? [invalid(field, next, 'must be less than or equal to previous value')] : [];
}

/** Existing tolerations must stay; only their tolerationSeconds may change. */
function validateAddedTolerations({ tolerations = [] }: PodSpec, old: PodSpec): FieldError[] {
  const identities = new Set(tolerations.map(identityOf));
  const kept = (old.tolerations ?? []).every((last) => identities.has(identityOf(last)));
  return kept
    ? []
    : [forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
}

const identityOf = ({ key, operator, value, effect }: Toleration): string =>
  JSON.stringify([key, operator, value, effect]);

function validateRemovedGates({ schedulingGates = [] }: PodSpec, old: PodSpec): FieldError[] {
  const known = new Set((old.schedulingGates ?? []).map(({ name }) => name));
  return errorsOfEach(schedulingGates, ({ name }, index) =>
    known.has(name)
      ? []
      : [
          forbidden(
            `spec.schedulingGates[${index}].name`,
            `only deletion is allowed, but found new scheduling gate '${name}'`,
          ),
        ],
  );
}

/** All other fields must be unchanged. The error lists those that are not. */
function validateUnchanged(spec: PodSpec, old: PodSpec): FieldError[] {
  const comparable = withUpdatable(spec, old);
  if (isDeepStrictEqual(comparable, old)) return [];
  const names = [...new Set([...Object.keys(comparable), ...Object.keys(old)])] as (keyof PodSpec)[];
  const changed = names.filter((name) => !isDeepStrictEqual(comparable[name], old[name])).map((name) => `spec.${name}`);
  if (changed.length === 0) return [];
  const detail = `pod updates may not change fields other than ${updatable}\nchanged: ${changed.join(', ')}`;
  return [forbidden('spec', detail)];
}

/** The new spec with all fields reset that may change or are checked elsewhere. */
function withUpdatable(spec: PodSpec, old: PodSpec): PodSpec {
  const comparable: PodSpec = { ...spec, containers: withImages(spec.containers, old.containers) };
  if (spec.initContainers) comparable.initContainers = withImages(spec.initContainers, old.initContainers);
  restore(comparable, old, 'activeDeadlineSeconds');
  restore(comparable, old, 'tolerations');
  restore(comparable, old, 'schedulingGates');
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1) {
    restore(comparable, old, 'terminationGracePeriodSeconds');
  }
  if ((old.schedulingGates ?? []).length > 0) restoreGated(comparable, old);
  return comparable;
}

const withImages = (containers: readonly Container[] = [], old: readonly Container[] = []): Container[] =>
  containers.map((container, index) => {
    const image = old[index]?.image;
    return image === undefined ? container : { ...container, image };
  });

function restore<K extends keyof PodSpec>(spec: PodSpec, old: PodSpec, field: K): void {
  const value = old[field];
  if (value === undefined) delete spec[field];
  else spec[field] = value;
}

/** Resets node requirements, which `validateGatedScheduling` checks. */
function restoreGated(spec: PodSpec, old: PodSpec): void {
  restore(spec, old, 'nodeSelector');
  const { nodeAffinity: _, ...others } = spec.affinity ?? {};
  const nodeAffinity = old.affinity?.nodeAffinity;
  const affinity = { ...others, ...(nodeAffinity && { nodeAffinity }) };
  if (Object.keys(affinity).length > 0 || (old.affinity && spec.affinity)) spec.affinity = affinity;
  else restore(spec, old, 'affinity');
}
