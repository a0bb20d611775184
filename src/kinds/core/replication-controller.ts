import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, required, toldAfter } from '../../meta/field-error.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { always, type Infer, map, opt, ptr, string, struct } from '../../schema/schema.ts';
import { wide } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { clearStatus, statusView, validateCountParts } from '../meta/status-view.ts';
import { typed } from '../typed.ts';
import { containerColumns, defaultPodTemplate, type PodTemplateSpec, podTemplateSpec, validatePodTemplate } from './pod/pod-template-spec.ts';
import { notSelected, ownerWarnings, replicaColumns, replicaParts, replicaSpec, replicaStatus, replicasScale, selectorColumn, validateReplaced } from './pod/replaced-pods.ts';

const spec = struct('api.core.v1.ReplicationControllerSpec', 'How many pods there should be, and of what kind.', {
  ...replicaSpec,
  selector: opt(2, map(string(), { mapType: 'atomic' }), 'Labels of the pods that are counted; those of the template unless set.'),
  template: ptr(3, podTemplateSpec, 'What missing pods are made of.'),
});

const schema = kindSchema('api.core.v1.ReplicationController', 'Keeps a number of equal pods running; replica sets and deployments came after it.', {
  spec: always(2, spec, 'What is asked for.'),
  status: always(3, replicaStatus('api.core.v1.ReplicationController'), 'What was last observed.'),
});

/** Casts a decoded object to its static type. */
export const asReplicationController = (object: ApiObject) => typed(schema, object);

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
  return [...(Object.keys(selector).length > 0 ? [] : [required('spec.selector')]), ...(template ? validateTemplate(template, selector, dialect) : [required('spec.template')])];
}

/** Its selector is not checked: one that no labels can match is told where the template's do not. */
function validateTemplate(template: PodTemplateSpec, selector: Readonly<Record<string, string>>, dialect: Dialect): FieldError[] {
  const path = 'spec.template';
  const labels = template.metadata?.labels;
  const selected = Object.entries(selector).every(([key, value]) => labels && Object.hasOwn(labels, key) && labels[key] === value);
  return [...(selected ? [] : [notSelected(path, labels)]), ...validatePodTemplate(template, path, dialect), ...toldAfter(path, validateReplaced(template, path, 'ReplicationController'))];
}

export const replicationController = (dialect: Dialect): Kind =>
  defineKind({
    kind: 'ReplicationController',
    shortNames: ['rc'],
    categories: ['all'],
    schema,
    selectableFields: [selectable('status.replicas', { absent: '0' })],
    columns: [...replicaColumns, ...containerColumns((object) => specOf(object).template, wide), selectorColumn((object) => ({ matchLabels: specOf(object).selector ?? {} }))],
    strategy: {
      default: fillDefaults,
      prepareForCreate: clearStatus(schema),
      validateCreate: validate,
      validateUpdate: (object, _old, context) => validate(object, context),
      warnings: ownerWarnings((object) => specOf(object).template, dialect),
    },
    subresources: [
      statusView((object) => validateCountParts(object, replicaParts)),
      replicasScale('labels', { absentName: { group: 'autoscaling', resource: scaleResource }, patchedName: { group: '', resource: scaleResource } }),
    ],
    generation: true,
    orphansByDefault: {},
  });

const scaleResource = 'replicationcontrollers/scale';
