import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { always, req, struct } from '../../schema/schema.ts';
import { wide } from '../columns.ts';
import { containerColumns, defaultPodTemplate, type PodTemplateSpec, podTemplateSpec } from '../core/pod/pod-template-spec.ts';
import { ownerWarnings, replicaColumns, replicaParts, replicaSpec, replicaStatus, replicasScale, selectorColumn, validateNotEmpty, validateOwnTemplate } from '../core/pod/replaced-pods.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { clearStatus, statusView, validateCountParts } from '../meta/status-view.ts';
import { typed } from '../typed.ts';

const spec = struct('api.apps.v1.ReplicaSetSpec', 'How many pods there should be, and of what kind.', {
  ...replicaSpec,
  selector: req(2, labelSelector, 'Selects the pods that are counted, those of the template among them; it never changes.', { immutable: 'always' }),
  template: always(3, podTemplateSpec, 'What missing pods are made of.', { checkedWhile: { valid: 'selector' } }),
});

const schema = kindSchema('api.apps.v1.ReplicaSet', 'Keeps a number of equal pods running.', {
  spec: always(2, spec, 'What is asked for.'),
  status: always(3, replicaStatus('api.apps.v1.ReplicaSet'), 'What was last observed.'),
});

/** Casts a decoded object to its static type. */
export const asReplicaSet = (object: ApiObject) => typed(schema, object);

const specOf = (object: ApiObject) => typed(schema, object).spec ?? { selector: undefined, template: undefined };
const templateOf = (object: ApiObject): PodTemplateSpec => specOf(object).template ?? {};

function validate(object: ApiObject, { dialect }: StrategyContext): FieldError[] {
  const { selector } = specOf(object);
  // The published text names another kind.
  return [...validateNotEmpty(selector, 'deployment'), ...validateOwnTemplate(templateOf(object), selector, { path: 'spec.template', owner: 'ReplicaSet', dialect })];
}

export const replicaSet = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('apps'),
    kind: 'ReplicaSet',
    shortNames: ['rs'],
    categories: ['all'],
    schema,
    columns: [...replicaColumns, ...containerColumns(templateOf, wide), selectorColumn((object) => specOf(object).selector)],
    strategy: {
      default: (object) => defaultPodTemplate(templateOf(object)),
      prepareForCreate: clearStatus(schema),
      validateCreate: validate,
      validateUpdate: (object, _old, context) => validate(object, context),
      warnings: ownerWarnings(templateOf, dialect),
    },
    subresources: [statusView((object) => validateCountParts(object, replicaParts)), replicasScale('labelSelector', { absentName: scaleName, patchedName: scaleName })],
    generation: true,
  });

const scaleName = { group: 'apps', resource: 'replicasets/scale' };
