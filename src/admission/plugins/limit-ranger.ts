import type { Dialect } from '../../dialect/dialect.ts';
import { limitsOf, type RangeLimit } from '../../kinds/core/limit-range.ts';
import type { Container } from '../../kinds/core/pod/container/container.ts';
import { asPod, type Pod } from '../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import { claimProblems, podProblems } from './limit-problems.ts';

interface LimitRangerOptions {
  readonly dialect: Dialect;
  /** The LimitRanges of a namespace, by name. Includes all writes acknowledged before the request. */
  readonly limitRanges: (
    namespace: string,
    signal: AbortSignal,
  ) => readonly ApiObject[] | Promise<readonly ApiObject[]>;
}

/** Gives containers the requests and limits that their namespace has as defaults, and keeps pods and claims within its bounds. */
export function limitRanger({ dialect, limitRanges }: LimitRangerOptions): AdmissionPlugin {
  const annotation = `${dialect.domain}/limit-ranger`;
  const withRanges = (
    attributes: AdmissionAttributes,
    each: (object: ApiObject, limits: readonly RangeLimit[]) => void,
  ): Promise<void> | void => {
    const { object, old, info, signal } = attributes;
    if (!object || old?.metadata.deletionTimestamp !== undefined) return;
    const run = (ranges: readonly ApiObject[]): void => {
      for (const range of ranges) each(object, limitsOf(range));
    };
    const ranges = limitRanges(info.namespace, signal);
    return ranges instanceof Promise ? ranges.then(run) : run(ranges);
  };
  return {
    name: 'LimitRanger',
    sideEffects: 'none',
    concerns: (attributes) => concernsPod(attributes) || concernsClaim(attributes),
    mutate: (attributes) =>
      concernsPod(attributes)
        ? withRanges(attributes, (object, limits) => setDefaults(object, limits, annotation))
        : undefined,
    validate: (attributes) =>
      withRanges(attributes, (object, limits) => {
        const problems = concernsPod(attributes) ? podProblems(asPod(object), limits) : claimProblems(object, limits);
        if (problems.length > 0) throw admissionForbidden(attributes, aggregate(problems));
      }),
  };
}

/** The resources of a pod cannot change otherwise. */
const concernsPod = ({ operation, info: { group, resource, subresource } }: AdmissionAttributes): boolean =>
  group === '' &&
  resource === 'pods' &&
  ((operation === 'create' && subresource === '') || (operation === 'update' && subresource === 'resize'));

const concernsClaim = ({ operation, info: { group, resource, subresource } }: AdmissionAttributes): boolean =>
  group === '' &&
  resource === 'persistentvolumeclaims' &&
  subresource === '' &&
  (operation === 'create' || operation === 'update');

/** Several problems are one text, in which each stands once. */
function aggregate(problems: readonly string[]): string {
  const texts = [...new Set(problems)];
  return texts.length === 1 ? `${texts[0]}` : `[${texts.join(', ')}]`;
}

function setDefaults(object: ApiObject, limits: readonly RangeLimit[], annotation: string): void {
  const ofContainers = limits.filter(({ type }) => type === 'Container');
  const defaults: Defaults = {
    requests: Object.assign({}, ...ofContainers.map(({ defaultRequest }) => defaultRequest)),
    limits: Object.assign({}, ...ofContainers.map((each) => each.default)),
  };
  const { spec }: Pod = asPod(object);
  const done = [
    ...(spec?.containers ?? []).flatMap((each) => fill(each, defaults, 'container')),
    ...(spec?.initContainers ?? []).flatMap((each) => fill(each, defaults, 'init container')),
  ];
  if (done.length === 0) return;
  const { metadata } = object;
  metadata.annotations = { ...metadata.annotations, [annotation]: `LimitRanger plugin set: ${done.join('; ')}` };
}

interface Defaults {
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
}

/** Says what was set, requests first. */
function fill(container: Container, defaults: Defaults, title: string): readonly string[] {
  const resources = { ...container.resources };
  const set = (['requests', 'limits'] as const).flatMap((which) => {
    const given = resources[which] ?? {};
    const names = Object.keys(defaults[which]).filter((name) => !Object.hasOwn(given, name));
    if (names.length === 0) return [];
    resources[which] = { ...given, ...Object.fromEntries(names.map((name) => [name, defaults[which][name] ?? ''])) };
    return [`${names.sort().join(', ')} ${which.slice(0, -1)} for ${title} ${container.name}`];
  });
  if (set.length > 0) container.resources = resources;
  return set;
}
