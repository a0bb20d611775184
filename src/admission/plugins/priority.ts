import { asPod, type Pod } from '../../kinds/core/pod/pod-schema.ts';
import { asPriorityClass } from '../../kinds/scheduling/priority-class.ts';
import { type ApiObject, nameOf } from '../../meta/api-object.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import { type DefaultedClasses, withFound } from './classes.ts';
import { writesPod } from './concerned-pods.ts';
import { writesResource } from './concerned-resource.ts';

interface PriorityOptions {
  /** Full name of the API group of priority classes. */
  readonly group: string;
  readonly classes: DefaultedClasses;
}

type Spec = NonNullable<Pod['spec']>;

const preemptionPolicies = ['PreemptLowerPriority', 'Never'] as const;

/**
 * Pods get the priority of their class, and the default class if they name none. Only one class can be the default one.
 */
export function priority({ group, classes }: PriorityOptions): AdmissionPlugin {
  const writesClass = (attributes: AdmissionAttributes): boolean =>
    attributes.operation !== 'delete' && writesResource(attributes, { group, resource: 'priorityclasses' });
  return {
    name: 'Priority',
    sideEffects: 'none',
    concerns: (attributes) => writesPod(attributes) || writesClass(attributes),
    mutate(attributes) {
      const spec = attributes.object && writesPod(attributes) ? asPod(attributes.object).spec : undefined;
      if (!spec) return;
      if (attributes.old) return keepPriority(spec, asPod(attributes.old).spec);
      const name = spec.priorityClassName || undefined;
      const found = name === undefined ? classes.byDefault(attributes) : classes.named(name, attributes);
      return withFound(found, (priorityClass) => setPriority(attributes, spec, priorityClass));
    },
    validate(attributes) {
      const { object } = attributes;
      if (!object || !writesClass(attributes) || !asPriorityClass(object).globalDefault) return;
      return withFound(classes.byDefault(attributes), (known) => {
        if (!known || (attributes.old && nameOf(known) === nameOf(object))) return;
        const why = `PriorityClass ${nameOf(known)} is already marked as default. Only one default can exist`;
        throw admissionForbidden(attributes, why);
      });
    },
  };
}

/** Clients that do not know the fields leave them out of updates; what changes them is refused by validation. */
function keepPriority(spec: Spec, old: Pod['spec']): void {
  if (spec.priority === undefined && old?.priority !== undefined) spec.priority = old.priority;
  if (spec.preemptionPolicy === undefined && old?.preemptionPolicy !== undefined) {
    spec.preemptionPolicy = old.preemptionPolicy;
  }
}

function setPriority(attributes: AdmissionAttributes, spec: Spec, found: ApiObject | undefined): void {
  const refuse = (why: string): never => {
    throw admissionForbidden(attributes, why);
  };
  if (spec.priorityClassName && !found) {
    refuse(`no PriorityClass with name ${spec.priorityClassName} was found`);
  }
  const { value = 0, preemptionPolicy } = found ? asPriorityClass(found) : { preemptionPolicy: preemptionPolicies[0] };
  const policy = preemptionPolicies.find((each) => each === preemptionPolicy);
  const computed = 'must not be provided in pod spec; priority admission controller computed';
  if (spec.priority !== undefined && spec.priority !== value) {
    refuse(`the integer value of priority (${spec.priority}) ${computed} ${value} from the given PriorityClass name`);
  }
  if (policy !== undefined && spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    refuse(
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) ${computed} ${policy} from the given PriorityClass name`,
    );
  }
  if (found) spec.priorityClassName = nameOf(found);
  spec.priority = value;
  if (policy !== undefined) spec.preemptionPolicy = policy;
}
