import { asPod, type Pod } from '../../kinds/core/pod/pod-schema.ts';
import { asRuntimeClass } from '../../kinds/node/runtime-class.ts';
import { compareQuantity, parseQuantity } from '../../meta/quantity.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import { type Classes, withFound } from './classes.ts';
import { createsPod } from './concerned-pods.ts';
import { mergedTolerations } from './merged-tolerations.ts';

interface RuntimeClassOptions {
  readonly classes: Classes;
  /** Others wait for this thread: throws LongWork instead of what takes long. */
  readonly inline: boolean;
}

type Spec = NonNullable<Pod['spec']>;
type RuntimeClass = ReturnType<typeof asRuntimeClass>;
type Amounts = Readonly<Record<string, string>>;

/**
 * A pod takes beside its containers what its runtime class says, no more and no less, and is placed where the class can be
 * run.
 */
export function runtimeClass({ classes, inline }: RuntimeClassOptions): AdmissionPlugin {
  type Check = (attributes: AdmissionAttributes, spec: Spec, found: RuntimeClass | undefined) => void;
  const withClass = (attributes: AdmissionAttributes, check: Check): Promise<void> | void => {
    const spec = attributes.object && asPod(attributes.object).spec;
    if (!spec) return;
    const name = spec.runtimeClassName;
    if (name === undefined) return check(attributes, spec, undefined);
    return withFound(classes.named(name, attributes), (found) => {
      if (!found) throw rejected(attributes, `RuntimeClass ${JSON.stringify(name)} not found`);
      return check(attributes, spec, asRuntimeClass(found));
    });
  };
  return {
    name: 'RuntimeClass',
    sideEffects: 'none',
    concerns: createsPod,
    mutate: (attributes) =>
      withClass(attributes, (_, spec, found) => {
        if (!found) return;
        applyOverhead(attributes, spec, found);
        applyScheduling(attributes, spec, found, inline);
      }),
    validate: (attributes) => withClass(attributes, checkOverhead),
  };
}

const rejected = (attributes: AdmissionAttributes, why: string) =>
  admissionForbidden(attributes, `pod rejected: ${why}`);

const otherOverhead = (attributes: AdmissionAttributes) =>
  rejected(attributes, "Pod's Overhead doesn't match RuntimeClass's defined Overhead");

function applyOverhead(attributes: AdmissionAttributes, spec: Spec, { overhead }: RuntimeClass): void {
  if (!overhead) return;
  const amounts = overhead.podFixed ?? {};
  const own = spec.overhead ?? {};
  if (Object.keys(own).length > 0 && !sameAmounts(own, amounts)) throw otherOverhead(attributes);
  if (overhead.podFixed) spec.overhead = { ...amounts };
  else delete spec.overhead;
}

function applyScheduling(
  attributes: AdmissionAttributes,
  spec: Spec,
  { scheduling }: RuntimeClass,
  inline: boolean,
): void {
  if (!scheduling) return;
  const { nodeSelector: own = {}, tolerations = [] } = spec;
  const selector = scheduling.nodeSelector ?? {};
  for (const [key, value] of Object.entries(selector)) {
    if (!Object.hasOwn(own, key) || own[key] === value) continue;
    const why = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own[key]}`;
    throw admissionForbidden(attributes, why);
  }
  if (Object.keys(selector).length > 0) spec.nodeSelector = { ...own, ...selector };
  const merged = mergedTolerations(tolerations, scheduling.tolerations ?? [], { inline });
  if (merged.length > 0) spec.tolerations = merged;
}

/** Also what came after this plugin may have changed the overhead. */
function checkOverhead(attributes: AdmissionAttributes, spec: Spec, found: RuntimeClass | undefined): void {
  if (found?.overhead) {
    if (!sameAmounts(spec.overhead ?? {}, found.overhead.podFixed ?? {})) throw otherOverhead(attributes);
  } else if (spec.overhead !== undefined) {
    throw rejected(attributes, 'Pod Overhead set without corresponding RuntimeClass defined Overhead');
  }
}

/** The same amounts of the same resources, however they are written. */
const sameAmounts = (a: Amounts, b: Amounts): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([name, amount]) => Object.hasOwn(b, name) && isSameAmount(amount, b[name] ?? ''));

function isSameAmount(a: string, b: string): boolean {
  const [ofA, ofB] = [parseQuantity(a), parseQuantity(b)];
  return ofA !== undefined && ofB !== undefined && compareQuantity(ofA, ofB) === 0;
}
