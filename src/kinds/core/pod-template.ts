import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { always } from '../../schema/schema.ts';
import { column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { containerColumns, defaultPodTemplate, labelsText, type PodTemplateSpec, podTemplateSpec, templateWarnings, validatePodTemplate } from './pod/pod-template-spec.ts';

const schema = kindSchema('api.core.v1.PodTemplate', 'A template of pods, for whoever makes pods of it.', {
  template: always(2, podTemplateSpec, 'What the pods are made of.'),
});

const templateOf = (object: ApiObject): PodTemplateSpec => typed(schema, object).template ?? {};
const validate = (object: ApiObject, { dialect }: StrategyContext) => validatePodTemplate(templateOf(object), 'template', dialect);

export const podTemplate = (dialect: Dialect): Kind =>
  defineKind({
    kind: 'PodTemplate',
    schema,
    columns: [nameColumn, ...containerColumns(templateOf), column('Pod Labels', 'Labels of the pods.', (object) => labelsText(templateOf(object).metadata?.labels))],
    strategy: {
      default: (object) => defaultPodTemplate(templateOf(object)),
      validateCreate: validate,
      validateUpdate: (object, _old, context) => validate(object, context),
      warnings: (object, old) => (old && equalValues(old['template'], object['template']) ? [] : templateWarnings(templateOf(object), 'template', dialect)),
    },
    deleteReturnsObject: true,
    generation: true,
  });
