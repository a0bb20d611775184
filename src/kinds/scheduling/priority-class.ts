import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, forbidden, notSupportedOf, required } from '../../meta/field-error.ts';
import { always, bool, documentedEnum, type Infer, int32, opt, ptr, string } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { apiVersionOf } from '../stored-as.ts';
import { typed } from '../typed.ts';

const schema = kindSchema('api.scheduling.v1.PriorityClass', 'A priority of pods, by name.', {
  value: always(2, int32(), 'The priority itself; pods with higher ones are placed first.', {
    immutable: { when: 'always', problem: { type: 'forbidden', detail: 'may not be changed in an update.' } },
  }),
  globalDefault: opt(3, bool(), 'True for the class of pods that name none.'),
  description: opt(4, string(), 'When to use the class.'),
  preemptionPolicy: ptr(5, documentedEnum('Never', 'PreemptLowerPriority'), 'Whether its pods may push out pods of lower priority: `PreemptLowerPriority` or `Never`.', {
    default: 'PreemptLowerPriority',
    immutable: 'always',
  }),
});

type PriorityClass = Infer<typeof schema>;

/** Casts a decoded class to its static type. */
export const asPriorityClass = (object: ApiObject): PriorityClass => typed(schema, object);

const preemptionPolicies = ['PreemptLowerPriority', 'Never'];
const systemPrefix = 'system-';
/** Highest priority of a class that is not the system's. */
const userPriorityMax = 1_000_000_000;
const systemPriority = 2 * userPriorityMax;

/** The classes that exist after every start; nobody can make others with the prefix of their names. */
const systemClasses: readonly Required<Pick<PriorityClass, 'value' | 'description'> & { name: string }>[] = [
  { name: 'system-node-critical', value: systemPriority + 1000, description: 'For pods that the system needs, and needs on the node where they are.' },
  { name: 'system-cluster-critical', value: systemPriority, description: 'For pods that the system needs, on whichever node.' },
];

/** Updates are not validated by these rules: what they are about cannot change. */
function validate(object: ApiObject): FieldError[] {
  const priorityClass = asPriorityClass(object);
  const { value = 0, preemptionPolicy } = priorityClass;
  const name = object.metadata.name ?? '';
  const errors: FieldError[] = [];
  if (name.startsWith(systemPrefix)) {
    const problem = systemProblem(name, priorityClass);
    if (problem !== undefined) errors.push(forbidden('metadata.name', `priority class names with '${systemPrefix}' prefix are reserved for system use only. error: ${problem}`));
  } else if (value > userPriorityMax) {
    errors.push(forbidden('value', `maximum allowed value of a user defined priority is ${userPriorityMax}`));
  }
  if (preemptionPolicy === '') errors.push(required('preemptionPolicy'));
  else if (preemptionPolicy !== undefined && !preemptionPolicies.includes(preemptionPolicy)) errors.push(notSupportedOf('preemptionPolicy', preemptionPolicy, preemptionPolicies));
  return errors;
}

/** Why a class with a name of the system is not the system's. */
function systemProblem(name: string, { value, globalDefault = false }: PriorityClass): string | undefined {
  const known = systemClasses.find((each) => each.name === name);
  if (!known) return `${name} is not a known system priority class`;
  if (value !== known.value) return `value of ${name} PriorityClass must be ${known.value}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

/** PriorityClass. Its generation never changes, as nothing that counts can. */
export const priorityClass = (dialect: Dialect): Kind => {
  const name = { group: dialect.group('scheduling'), version: 'v1', kind: 'PriorityClass' };
  return defineKind({
    ...name,
    resource: 'priorityclasses',
    shortNames: ['pc'],
    scope: 'Cluster',
    schema,
    columns: [
      nameColumn,
      column('Value', 'The priority.', '.value', { type: 'integer', absent: 0 }),
      column('Global-Default', 'Whether pods that name no class have this one.', '.globalDefault', { type: 'boolean', absent: false }),
      ageColumn,
      column('PreemptionPolicy', 'Whether its pods may push out others.', '.preemptionPolicy', { absent: 'PreemptLowerPriority' }),
    ],
    strategy: {
      prepareForCreate({ metadata }) {
        metadata.generation = 1;
      },
      validateCreate: validate,
    },
    initialObjects: systemClasses.map(({ name: ofClass, ...content }) => ({ apiVersion: apiVersionOf(name), kind: name.kind, metadata: { name: ofClass }, ...content })),
    undeletable: { names: systemClasses.map((each) => each.name), reason: 'this is a system priority class and cannot be deleted' },
  });
};
