import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, notSupportedOf, required } from '../../meta/field-error.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { shownAsGo } from '../../schema/go-text.ts';
import { always, documentedEnum, type Infer, int32, int64, intOrString, mergeList, opt, ptr, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, wide } from '../columns.ts';
import { containerColumns, defaultPodTemplate, labelsText, type PodTemplateSpec, podTemplateSpec, templateWarnings } from '../core/pod/pod-template-spec.ts';
import { amountOf, countColumn, invalidAmount, selectorColumn, validateAtMostAll, validateIntOrPercent, validateNotEmpty, validateReplacedTemplate } from '../core/pod/replaced-pods.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { clearStatus, keepSpec, kindCondition, statusView, validateCollisionCount } from '../meta/status-view.ts';
import { typed } from '../typed.ts';

const rollingUpdate = struct('api.apps.v1.RollingUpdateDaemonSet', 'How many nodes a roll-out may leave without their pod, or with two.', {
  maxUnavailable: ptr(1, intOrString(), 'Pods that may be missing meanwhile: a number, or a percentage of the wanted ones.'),
  maxSurge: ptr(2, intOrString(), 'Nodes that may have a second pod meanwhile: a number, or a percentage of the wanted pods.'),
});

const updateStrategy = struct('api.apps.v1.DaemonSetUpdateStrategy', 'How pods are replaced when the template changes.', {
  type: opt(1, documentedEnum('OnDelete', 'RollingUpdate'), '`RollingUpdate`, or `OnDelete`, which replaces pods that somebody deletes.', { default: 'RollingUpdate' }),
  rollingUpdate: ptr(2, rollingUpdate, 'Bounds of a rolling update.'),
});

const spec = struct(
  'api.apps.v1.DaemonSetSpec',
  'Which pod each node should run.',
  {
    selector: ptr(1, labelSelector, 'Selects the pods that are counted, those of the template among them; it never changes.', { documented: 'required', immutable: 'always' }),
    template: always(2, podTemplateSpec, 'What pods are made of; nodes that it selects get one each.', { documented: 'required' }),
    updateStrategy: always(3, updateStrategy, 'How pods of a former template are replaced.'),
    minReadySeconds: opt(4, int32({ minimum: 0 }), 'Seconds that a pod must be ready before it counts as available.'),
    revisionHistoryLimit: ptr(6, int32({ minimum: 0 }), 'Revisions of former templates that are kept to go back to.', { default: 10 }),
  },
  { checkedFirst: ['selector', 'template', 'minReadySeconds'] },
);

const status = struct('api.apps.v1.DaemonSetStatus', 'How many nodes have their pod.', {
  currentNumberScheduled: always(1, int32({ minimum: 0 }), 'Nodes that run the pod and should.'),
  numberMisscheduled: always(2, int32({ minimum: 0 }), 'Nodes that run the pod and should not.'),
  desiredNumberScheduled: always(3, int32({ minimum: 0 }), 'Nodes that should run the pod.'),
  numberReady: always(4, int32({ minimum: 0 }), 'Nodes whose pod is ready.'),
  observedGeneration: opt(5, int64({ minimum: 0 }), 'The generation that the controller last acted on.'),
  updatedNumberScheduled: opt(6, int32({ minimum: 0 }), 'Nodes that run a pod of the present template.'),
  numberAvailable: opt(7, int32({ minimum: 0 }), 'Nodes whose pod has been ready for long enough.'),
  numberUnavailable: opt(8, int32({ minimum: 0 }), 'Nodes whose pod is missing, or not available yet.'),
  collisionCount: ptr(9, int32({ minimum: 0 }), 'Names of revisions that were taken; part of the next name.'),
  conditions: opt(10, mergeList('type', kindCondition('api.apps.v1.DaemonSet'), { duplicatesAllowed: true }), 'What is known of the state.'),
});

const schema = kindSchema('api.apps.v1.DaemonSet', 'Keeps a pod running on every node that its template selects.', {
  spec: always(2, spec, 'What is asked for.'),
  status: always(3, status, 'What was last observed.'),
});

/** Casts a decoded object to its static type. */
export const asDaemonSet = (object: ApiObject) => typed(schema, object);

const specOf = (object: ApiObject): Partial<Infer<typeof spec>> => typed(schema, object).spec ?? {};
const templateOf = (object: ApiObject): PodTemplateSpec => specOf(object).template ?? {};

/** The count is written even if nobody has one, so that whoever writes the object owns it, as published. */
function fillDefaults(object: ApiObject): void {
  const { metadata } = object;
  if (metadata.annotations?.[templateGeneration] === undefined) metadata.annotations = { ...metadata.annotations, [templateGeneration]: '0' };
  defaultPodTemplate(templateOf(object));
  const chosen = specOf(object).updateStrategy;
  if (chosen?.type === 'RollingUpdate') chosen.rollingUpdate = { maxUnavailable: 1, maxSurge: 0, ...chosen.rollingUpdate };
}

/** Counts the templates that an object has had, for clients that know no revisions. */
const templateGeneration = 'deprecated.daemonset.template.generation';

function countedTemplates({ metadata: { annotations = {} } }: ApiObject): number {
  const text = annotations[templateGeneration] ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

function setCountedTemplates({ metadata }: ApiObject, count: number): void {
  metadata.annotations = { ...metadata.annotations, [templateGeneration]: String(count) };
}

/** Clients cannot set the count: a new object begins at 1, or at what a copied one had. */
const countTemplates = (object: ApiObject, old: ApiObject): void => setCountedTemplates(object, countedTemplates(old) + (sameTemplate(object, old) ? 0 : 1));

const sameTemplate = (object: ApiObject, old: ApiObject): boolean => equalValues(templateOf(object), templateOf(old));

function validate(object: ApiObject, { dialect }: StrategyContext): FieldError[] {
  const { selector, updateStrategy: chosen = {} } = specOf(object);
  return [
    ...validateNotEmpty(selector, 'daemonset'),
    ...validateReplacedTemplate(templateOf(object), selector, { path: 'spec.template', owner: 'DaemonSet', dialect }),
    ...validateStrategy(chosen, 'spec.updateStrategy'),
  ];
}

function validateStrategy(chosen: Infer<typeof updateStrategy>, path: string): FieldError[] {
  const { type, rollingUpdate: bounds } = chosen;
  switch (type) {
    case 'OnDelete':
      return [];
    case 'RollingUpdate':
      return bounds ? validateBounds(bounds, `${path}.rollingUpdate`) : [required(`${path}.rollingUpdate`)];
    default:
      return [shownAsGo(notSupportedOf(path, chosen, ['RollingUpdate', 'OnDelete']), updateStrategy)];
  }
}

function validateBounds({ maxUnavailable, maxSurge }: Infer<typeof rollingUpdate>, path: string): FieldError[] {
  const [unavailable, surge] = [amountOf(maxUnavailable) !== 0, amountOf(maxSurge) !== 0];
  return [
    ...validateIntOrPercent(maxUnavailable, `${path}.maxUnavailable`),
    ...validateIntOrPercent(maxSurge, `${path}.maxSurge`),
    ...validateAtMostAll(maxUnavailable, `${path}.maxUnavailable`),
    ...validateAtMostAll(maxSurge, `${path}.maxSurge`),
    ...(unavailable && surge ? [invalidAmount(`${path}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero')] : []),
    ...(unavailable || surge ? [] : [required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0')]),
  ];
}

export const daemonSet = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('apps'),
    kind: 'DaemonSet',
    shortNames: ['ds'],
    categories: ['all'],
    schema,
    columns: [
      nameColumn,
      countColumn('Desired', 'Nodes that should run the pod.', '.status.desiredNumberScheduled'),
      countColumn('Current', 'Nodes that run the pod and should.', '.status.currentNumberScheduled'),
      countColumn('Ready', 'Nodes whose pod is ready.', '.status.numberReady'),
      countColumn('Up-to-date', 'Nodes that run a pod of the present template.', '.status.updatedNumberScheduled'),
      countColumn('Available', 'Nodes whose pod is available.', '.status.numberAvailable'),
      column('Node Selector', 'Labels of the nodes that should run the pod.', (object) => labelsText(templateOf(object).spec?.nodeSelector)),
      ageColumn,
      ...containerColumns(templateOf, wide),
      selectorColumn((object) => specOf(object).selector),
    ],
    strategy: {
      default: fillDefaults,
      prepareForCreate: (object, context) => {
        clearStatus(schema)(object, context);
        setCountedTemplates(object, Math.max(countedTemplates(object), 1));
      },
      prepareForUpdate: countTemplates,
      validateCreate: validate,
      validateUpdate: (object, _old, context) => validate(object, context),
      warnings: (object, old) => (old && sameTemplate(object, old) ? [] : templateWarnings(templateOf(object), 'spec.template', dialect)),
    },
    subresources: [
      {
        ...statusView(validateCollisionCount),
        prepareForUpdate: (object, old) => {
          keepSpec(object, old);
          setCountedTemplates(object, countedTemplates(old));
        },
      },
    ],
    generation: true,
  });
