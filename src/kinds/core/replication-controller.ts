import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, required } from '../../meta/field-error.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { always, type Infer, int32, int64, map, mergeList, opt, ptr, string, struct } from '../../schema/schema.ts';
import { ageColumn, nameColumn, wide } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { clearStatus, kindCondition, statusView, validateCountParts } from '../meta/status-view.ts';
import { typed } from '../typed.ts';
import { containerColumns, defaultPodTemplate, podTemplateSpec } from './pod/pod-template-spec.ts';
import { countColumn, ownerWarnings, replicaParts, replicasScale, selectorColumn, validateReplacedTemplate } from './pod/replaced-pods.ts';

const spec = struct('api.core.v1.ReplicationControllerSpec', 'How many pods there should be, and of what kind.', {
  replicas: ptr(1, int32({ minimum: 0 }), 'Wanted number of pods.', { default: 1 }),
  minReadySeconds: opt(4, int32({ minimum: 0 }), 'Seconds that a pod must be ready before it counts as available.'),
  selector: opt(2, map(string(), { mapType: 'atomic' }), 'Labels of the pods that are counted; those of the template unless set.'),
  template: ptr(3, podTemplateSpec, 'What missing pods are made of.'),
});

const status = struct('api.core.v1.ReplicationControllerStatus', 'How many pods there are.', {
  replicas: always(1, int32({ minimum: 0 }), 'Pods that were last counted.'),
  fullyLabeledReplicas: opt(2, int32({ minimum: 0 }), 'Pods that have all labels of the template.'),
  readyReplicas: opt(4, int32({ minimum: 0 }), 'Pods that are ready.'),
  availableReplicas: opt(5, int32({ minimum: 0 }), 'Pods that have been ready for long enough.'),
  observedGeneration: opt(3, int64({ minimum: 0 }), 'The generation that the controller last acted on.'),
  conditions: opt(6, mergeList('type', kindCondition('api.core.v1.ReplicationController'), { duplicatesAllowed: true }), 'What is known of the state.'),
});

const schema = kindSchema('api.core.v1.ReplicationController', 'Keeps a number of equal pods running; replica sets and deployments came after it.', {
  spec: always(2, spec, 'What is asked for.'),
  status: always(3, status, 'What was last observed.'),
});

const specOf = (object: ApiObject): Infer<typeof spec> => typed(schema, object).spec ?? {};

/** The labels of the template are the default of the selector, and of the labels of the object. */
function fillDefaults(object: ApiObject): void {
  const wanted = specOf(object);
  defaultPodTemplate(wanted.template);
  const labels = wanted.template?.metadata?.labels;
  if (!labels) return;
  if (Object.keys(wanted.selector ?? {}).length === 0) wanted.selector = { ...labels };
  if (Object.keys(object.metadata.labels ?? {}).length === 0) object.metadata.labels = { ...labels };
}

function validate(object: ApiObject, { dialect }: StrategyContext): FieldError[] {
  const { selector = {}, template } = specOf(object);
  return [
    ...(Object.keys(selector).length > 0 ? [] : [required('spec.selector')]),
    ...(template ? validateReplacedTemplate(template, { matchLabels: selector }, { path: 'spec.template', owner: 'ReplicationController', dialect }) : [required('spec.template')]),
  ];
}

export const replicationController = (): Kind =>
  defineKind({
    kind: 'ReplicationController',
    shortNames: ['rc'],
    categories: ['all'],
    schema,
    selectableFields: [selectable('status.replicas', { absent: '0' })],
    columns: [
      nameColumn,
      countColumn('Desired', 'Wanted number of pods.', '.spec.replicas'),
      countColumn('Current', 'Number of pods.', '.status.replicas'),
      countColumn('Ready', 'Number of pods that are ready.', '.status.readyReplicas'),
      ageColumn,
      ...containerColumns((object) => specOf(object).template, wide),
      selectorColumn((object) => ({ matchLabels: specOf(object).selector ?? {} })),
    ],
    strategy: {
      default: fillDefaults,
      prepareForCreate: clearStatus(schema),
      validateCreate: validate,
      validateUpdate: (object, _old, context) => validate(object, context),
      warnings: ownerWarnings((object) => specOf(object).template),
    },
    subresources: [statusView((object) => validateCountParts(object, replicaParts)), replicasScale('labels')],
    generation: true,
    orphansByDefault: {},
  });
