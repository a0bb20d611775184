import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { type FieldError, forbidden, invalid, invalidMap, notSupported, toldAfter } from '../../../meta/field-error.ts';
import { equalValues } from '../../../schema/equal-values.ts';
import { shownAsGo } from '../../../schema/go-text.ts';
import { always, int32, int64, intOrString, mergeList, opt, ptr, struct } from '../../../schema/schema.ts';
import { validate } from '../../../schema/validate.ts';
import { ageColumn, column, nameColumn, none, wide } from '../../columns.ts';
import type { Column, ScaleSubresource, Strategy } from '../../kind.ts';
import { type LabelSelector, labelSelector, labelSelectorText, readLabelSelector, selectsLabels } from '../../meta/label-selector.ts';
import { kindCondition } from '../../meta/status-view.ts';
import { type PodTemplateSpec, templateWarnings, validatePodTemplate } from './pod-template-spec.ts';
import { nameWarnings } from './pod-warnings.ts';

/** What the kinds share that keep a number of pods, made from a template and found by a selector. */

/** Errors of the template of pods that a controller replaces. `owner` is the kind in the error. */
export const validateReplacedTemplate = (
  template: PodTemplateSpec,
  selector: LabelSelector | undefined,
  { path, owner, dialect }: { readonly path: string; readonly owner: string; readonly dialect: Dialect },
): FieldError[] => [...validateSelected(selector, template, path), ...validatePodTemplate(template, path, dialect), ...toldAfter(path, validateReplaced(template, path, owner))];

/** The same of deployments and replica sets, which say so if their selector cannot be read. */
export const validateOwnTemplate: typeof validateReplacedTemplate = (template, selector, options) =>
  selector && !isReadable(selector) ? [unreadableSelector(selector)] : validateReplacedTemplate(template, selector, options);

/** The error of a selector that cannot be read, which is told beside what is wrong with it. No template is compared with it. */
export const unreadableSelector = (selector: LabelSelector, detail = 'invalid label selector'): FieldError => shownAsGo(invalid('spec.selector', selector, detail), labelSelector);

/** Whether the selector of an object can be read; an absent one can. */
export const isReadable = (selector: LabelSelector | undefined): boolean => selector === undefined || validate(labelSelector, selector).length === 0;

/** Pods that are replaced are never done: they restart always and have no deadline. */
export const validateReplaced = ({ spec }: PodTemplateSpec, path: string, owner: string): FieldError[] => [
  ...(spec?.restartPolicy === 'Always' ? [] : [notSupported(`${path}.spec.restartPolicy`, spec?.restartPolicy ?? '', ['Always'])]),
  ...(spec?.activeDeadlineSeconds === undefined ? [] : [forbidden(`${path}.spec.activeDeadlineSeconds`, `activeDeadlineSeconds in ${owner} is not Supported`)]),
];

/** A selector selects the pods of the template beside it. An absent one selects nothing. */
export function validateSelected(selector: LabelSelector | undefined, { metadata = {} }: PodTemplateSpec, path: string): FieldError[] {
  if (!isReadable(selector)) return [];
  const parsed = selector && readLabelSelector(selector);
  return parsed && selectsLabels(parsed, metadata.labels) ? [] : [notSelected(path, metadata.labels)];
}

export const notSelected = (path: string, labels: Readonly<Record<string, string>> | undefined): FieldError =>
  invalidMap(`${path}.metadata.labels`, labels, '`selector` does not match template `labels`');

/** A selector that selects everything would take the pods of others. */
export const validateNotEmpty = (selector: LabelSelector | undefined, owner: string): FieldError[] =>
  selector && Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0
    ? [shownAsGo(invalid('spec.selector', selector, `empty selector is invalid for ${owner}`), labelSelector)]
    : [];

/** Warnings about the name of a new object, and about the template of one that is new or whose spec changes. */
export const ownerWarnings =
  (template: (object: ApiObject) => PodTemplateSpec | undefined, dialect: Dialect): NonNullable<Strategy['warnings']> =>
  (object, old) => [
    ...(old ? [] : nameWarnings(object.metadata.name ?? '', 'Pod names and hostnames')),
    ...(old && equalValues(object['spec'], old['spec']) ? [] : templateWarnings(template(object), 'spec.template', dialect)),
  ];

/** A percentage, or a number that is not negative. */
export function validateIntOrPercent(value: number | string | undefined, path: string): FieldError[] {
  if (typeof value === 'string')
    return percent.test(value)
      ? []
      : [invalidAmount(path, value, `a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')`)];
  return value !== undefined && value < 0 ? [invalid(path, value, 'must be greater than or equal to 0')] : [];
}

/** An error of a number or percentage as such: what is wrong with a number alone shows the number. */
export const invalidAmount = (path: string, value: number | string | undefined, detail: string): FieldError => shownAsGo(invalid(path, value, detail), intOrString());

const percent = /^[0-9]+%$/;

/** A number, or that of a percentage; 0 if it is neither. */
export const amountOf = (value: number | string = 0): number => (typeof value === 'number' ? value : percent.test(value) ? Number(value.slice(0, -1)) : /^[+-]?\d+$/.test(value) ? Number(value) : 0);

export const validateAtMostAll = (value: number | string | undefined, path: string): FieldError[] =>
  typeof value === 'string' && percent.test(value) && amountOf(value) > 100 ? [invalidAmount(path, value, 'must not be greater than 100%')] : [];

/** The subresource `scale` of kinds that count `spec.replicas`. */
export const replicasScale = (selectorForm: NonNullable<ScaleSubresource['selectorForm']>, names: Pick<ScaleSubresource, 'absentName' | 'patchedName'>): ScaleSubresource => ({
  ...names,
  type: 'scale',
  name: 'scale',
  verbs: ['get', 'update', 'patch'],
  specReplicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
  labelSelector: ['spec', 'selector'],
  selectorForm,
  columns: [
    column('Name', 'Name of the object.', '.metadata.name'),
    countColumn('Desired', 'Wanted number of replicas.', '.spec.replicas'),
    countColumn('Available', 'Actual number of replicas.', '.status.replicas'),
    ageColumn,
  ],
});

/** A number at a path; 0 if there is none. */
export const countColumn = (name: string, description: string, path: string): Column => column(name, description, { path, absent: 0 }, { type: 'integer' });

export const selectorColumn = (selector: (object: ApiObject) => LabelSelector | undefined, absent: string = none): Column =>
  column('Selector', 'Selects the pods by their labels.', (object) => labelSelectorText(selector(object) ?? {}) || absent, wide);

/** What the specs and statuses of replica sets and replication controllers have in common. */
export const replicaSpec = {
  replicas: ptr(1, int32({ minimum: 0 }), 'Wanted number of pods.', { default: 1 }),
  minReadySeconds: opt(4, int32({ minimum: 0 }), 'Seconds that a pod must be ready before it counts as available.'),
};

/** `name` is that of the kind. */
export const replicaStatus = (name: string) =>
  struct(`${name}Status`, 'How many pods there are.', {
    replicas: always(1, int32({ minimum: 0 }), 'Pods that were last counted.'),
    fullyLabeledReplicas: opt(2, int32({ minimum: 0 }), 'Pods that have all labels of the template.'),
    readyReplicas: opt(4, int32({ minimum: 0 }), 'Pods that are ready.'),
    availableReplicas: opt(5, int32({ minimum: 0 }), 'Pods that have been ready for long enough.'),
    observedGeneration: opt(3, int64({ minimum: 0 }), 'The generation that the controller last acted on.'),
    conditions: opt(6, mergeList('type', kindCondition(name), { duplicatesAllowed: true }), 'What is known of the state.'),
  });

export const replicaColumns: readonly Column[] = [
  nameColumn,
  countColumn('Desired', 'Wanted number of pods.', '.spec.replicas'),
  countColumn('Current', 'Number of pods.', '.status.replicas'),
  countColumn('Ready', 'Number of pods that are ready.', '.status.readyReplicas'),
  ageColumn,
];

/** Counts of that status of which one is part of the other. */
export const replicaParts = [
  ['fullyLabeledReplicas', 'replicas', 'status.replicas'],
  ['readyReplicas', 'replicas', 'status.replicas'],
  ['availableReplicas', 'replicas', 'status.replicas'],
  ['availableReplicas', 'readyReplicas', 'readyReplicas'],
] as const;
