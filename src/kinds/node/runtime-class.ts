import { deprecatedNodeLabel } from '../../dialect/deprecated-node-labels.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { duplicate, errorsOfEach, type FieldError } from '../../meta/field-error.ts';
import { isDnsLabel, isLabelValue, isQualifiedName } from '../../meta/formats.ts';
import { goText } from '../../schema/go-text.ts';
import { always, type Infer, list, map, opt, ptr, quantity, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { toleration } from '../core/pod/toleration.ts';
import { failing } from '../core/pod/validation/field-checks.ts';
import { validateResources } from '../core/pod/validation/resources-validation.ts';
import { validateTolerations } from '../core/pod/validation/toleration-validation.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const overhead = struct('api.node.v1.Overhead', 'What a pod takes beside its containers.', {
  podFixed: opt(1, map(quantity()), 'The same amounts for every pod.'),
});

const scheduling = struct('api.node.v1.Scheduling', 'Which nodes can run pods of the class.', {
  nodeSelector: opt(1, map(string(), { mapType: 'atomic' }), 'Labels that a node must have.'),
  tolerations: opt(2, list(toleration), 'Taints that pods of the class tolerate, beside their own.'),
});

const schema = kindSchema('api.node.v1.RuntimeClass', 'A way in which nodes run the containers of a pod.', {
  handler: always(2, string(), 'Name of the configuration of the container runtime.', { immutable: 'always' }),
  overhead: ptr(3, overhead, 'What pods of the class take beside their containers.'),
  scheduling: ptr(4, scheduling, 'Which nodes can run pods of the class; all of them where it is left out.'),
});

type Scheduling = Infer<typeof scheduling>;

/** Casts a decoded class to its static type. */
export const asRuntimeClass = (object: ApiObject): Infer<typeof schema> => typed(schema, object);

function validate(object: ApiObject, { domain }: Dialect): FieldError[] {
  const { handler = '', overhead, scheduling } = asRuntimeClass(object);
  return [
    ...failing(isDnsLabel, 'handler', handler),
    // The rules, and the paths, of the resources of a container.
    ...(overhead ? validateResources({ limits: overhead.podFixed ?? {} }, 'overhead', { domain, claims: new Set() }) : []),
    ...(scheduling ? validateScheduling(scheduling) : []),
  ];
}

const validateScheduling = ({ nodeSelector = {}, tolerations = [] }: Scheduling): FieldError[] => [
  ...errorsOfEach(Object.entries(nodeSelector), ([key, value]) => [...failing(isQualifiedName, 'scheduling.nodeSelector', key), ...failing(isLabelValue, 'scheduling.nodeSelector', value)]),
  // The published path names the field twice.
  ...validateTolerations(tolerations, 'scheduling.tolerations.tolerations'),
  ...validateDifferent(tolerations, 'scheduling.tolerations'),
];

function validateDifferent(tolerations: readonly Infer<typeof toleration>[], path: string): FieldError[] {
  const seen = new Set<string>();
  return errorsOfEach(tolerations, (each, index) => {
    const text = goText(toleration, each);
    const repeated = seen.has(text);
    seen.add(text);
    return repeated ? [{ ...duplicate(`${path}[${index}]`, each), shown: text }] : [];
  });
}

function warnings(object: ApiObject, dialect: Dialect): string[] {
  const keys = Object.keys(asRuntimeClass(object).scheduling?.nodeSelector ?? {}).sort();
  return keys.flatMap((key) => {
    const text = deprecatedNodeLabel(dialect, key);
    return text === undefined ? [] : [`scheduling.nodeSelector: ${text}`];
  });
}

export const runtimeClass = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('node'),
    kind: 'RuntimeClass',
    resource: 'runtimeclasses',
    scope: 'Cluster',
    schema,
    columns: [nameColumn, column('Handler', 'Name of the configuration of the container runtime.', '.handler'), ageColumn],
    strategy: {
      validateCreate: (object) => validate(object, dialect),
      validateUpdate: (object) => validate(object, dialect),
      warnings: (object) => warnings(object, dialect),
    },
    createOnUpdate: true,
    unconditionalUpdate: false,
  });
