import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid, invalidMap, required, toldAfter } from '../../meta/field-error.ts';
import { isDnsLabel } from '../../meta/formats.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { humanDuration } from '../../meta/time.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { goText } from '../../schema/go-text.ts';
import { schemaOf } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, wide } from '../columns.ts';
import { containerColumns, defaultPodTemplate, type PodTemplateSpec } from '../core/pod/pod-template-spec.ts';
import { podTemplateText } from '../core/pod/pod-template-text.ts';
import { ownerWarnings, selectorColumn, validateSelected } from '../core/pod/replaced-pods.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { readLabelSelector, selectsLabels } from '../meta/label-selector.ts';
import { clearStatus, statusView } from '../meta/status-view.ts';
import { typed } from '../typed.ts';
import { type JobSpec, jobSchema, jobSpec } from './job-schema.ts';
import { jobSpecWarnings, validateJobSpec } from './job-spec-errors.ts';
import { validateJobStatus } from './job-status-errors.ts';

const specOf = (object: ApiObject): JobSpec => typed(jobSchema, object).spec ?? {};
const statusOf = (object: ApiObject) => typed(jobSchema, object).status ?? {};
const templateOf = (object: ApiObject): PodTemplateSpec => specOf(object).template ?? {};

const noLimit = 2 ** 31 - 1;

function fillDefaults(object: ApiObject): void {
  const spec = specOf(object);
  defaultPodTemplate(spec.template);
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : noLimit;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  for (const { onPodConditions = [] } of spec.podFailurePolicy?.rules ?? []) for (const pattern of onPodConditions) pattern.status ||= 'True';
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed';
  spec.manualSelector ??= false;
  const labels = spec.template?.metadata?.labels;
  // The same map, as in kube-apiserver: what `makeSelector` adds to it is in both.
  if (labels && Object.keys(object.metadata.labels ?? {}).length === 0) object.metadata.labels = labels;
}

/** Labels of the pods of a job, each under the name of former versions too. */
const jobLabels = ({ domain }: Dialect, { metadata: { name = '', uid = '' } }: ApiObject) => ({
  former: { 'controller-uid': uid, 'job-name': name },
  present: { [`batch.${domain}/controller-uid`]: uid, [`batch.${domain}/job-name`]: name },
});

/** Labels and selector that are like those of no other job. What the client sent stays, and is validated. */
function makeSelector(object: ApiObject, { dialect }: StrategyContext): void {
  const spec = specOf(object);
  if (spec.manualSelector) return;
  const { former, present } = jobLabels(dialect, object);
  const metadata = spec.template?.metadata ?? {};
  const labels = { ...former, ...present, ...metadata.labels };
  if (metadata.labels && object.metadata.labels === metadata.labels) object.metadata.labels = { ...labels };
  spec.template = { ...spec.template, metadata: { ...metadata, labels } };
  const key = `batch.${dialect.domain}/controller-uid`;
  spec.selector = { ...spec.selector, matchLabels: { [key]: present[key] ?? '', ...spec.selector?.matchLabels } };
}

/** `old`: jobs of former versions have no labels of the present names. */
function validate(object: ApiObject, { dialect }: StrategyContext, old?: ApiObject): FieldError[] {
  const spec = specOf(object);
  return [
    ...validateGenerated(object, dialect, old),
    ...validateJobSpec(spec, 'spec', dialect),
    ...(spec.selector ? [] : [required('spec.selector')]),
    ...toldAfter('spec.selector', validateSelected(spec.selector, templateOf(object), 'spec.template')),
    ...validateHostname(object),
  ];
}

function validateGenerated(object: ApiObject, dialect: Dialect, old: ApiObject | undefined): FieldError[] {
  const { manualSelector, selector } = specOf(object);
  if (manualSelector || !selector) return [];
  const { former, present } = jobLabels(dialect, object);
  const before = old && templateOf(old).metadata?.labels;
  const expected = !before || Object.keys(present).every((key) => Object.hasOwn(before, key)) ? { ...former, ...present } : former;
  const labels = templateOf(object).metadata?.labels ?? {};
  const parsed = readLabelSelector(selector);
  return [
    ...Object.entries(expected).flatMap(([key, value]) => {
      const path = `spec.template.metadata.labels[${key}]`;
      if (!Object.hasOwn(labels, key)) return [required(path, `must be '${value}'`)];
      return labels[key] === value ? [] : [invalidMap(path, labels, `must be '${value}'`)];
    }),
    ...(parsed && !selectsLabels(parsed, expected) ? [invalidPart('selector', selector, '`selector` not auto-generated')] : []),
  ];
}

/** Pods of an indexed job are named by their number. */
function validateHostname({ metadata: { name = '' }, ...object }: ApiObject): FieldError[] {
  const { completionMode, completions = 0 } = specOf({ metadata: {}, ...object } as ApiObject);
  const last = `${name}-${completions - 1}`;
  return completionMode === 'Indexed' && completions > 0 && isDnsLabel(last).length > 0 ? [invalid('metadata.name', name, `will not able to create pod with invalid DNS label: ${last}`)] : [];
}

/** A part of the spec that may not be as it is. A pointer to nothing is shown as any nothing. */
function invalidPart(name: keyof JobSpec, value: unknown, detail: string): FieldError {
  const error = invalid(`spec.${name}`, value ?? null, detail);
  return value === undefined ? error : { ...error, shown: goText(schemaOf(jobSpec.fields[name]), value) };
}

const invalidTemplate = (template: PodTemplateSpec | undefined): FieldError => ({
  ...invalid('spec.template', template ?? {}, 'field is immutable'),
  shown: podTemplateText(template),
});

const fixed = ['selector', 'completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'] as const;

function validateChanges(object: ApiObject, old: ApiObject): FieldError[] {
  const [spec, former] = [specOf(object), specOf(old)];
  const immutable = (name: keyof JobSpec) => (equalValues(spec[name], former[name]) ? [] : [invalidPart(name, spec[name], 'field is immutable')]);
  const template = equalValues(spec.template, movable(object, old)) ? [] : [invalidTemplate(spec.template)];
  return [...validateCompletions(spec, former), ...immutable('selector'), ...template, ...fixed.slice(1).flatMap(immutable)];
}

/** The completions of an indexed job may change together with its parallelism. */
function validateCompletions(spec: JobSpec, former: JobSpec): FieldError[] {
  const { completions, parallelism, completionMode } = spec;
  if (completions === former.completions) return [];
  if (completionMode !== 'Indexed') return [invalid('spec.completions', completions ?? null, 'field is immutable')];
  return completions === undefined || completions === parallelism ? [] : [invalid('spec.completions', completions, 'can only be modified in tandem with spec.parallelism')];
}

/** The stored template, where a job that never ran is suspended with what says where its pods may run from the new one. */
function movable(object: ApiObject, old: ApiObject): PodTemplateSpec | undefined {
  const [spec, former] = [specOf(object), specOf(old)];
  if (former.suspend !== true || statusOf(old).startTime !== undefined || !former.template) return former.template;
  const next = spec.template ?? {};
  const target = cloneJson(former.template.spec ?? {}) as Record<string, unknown>;
  const metadata = cloneJson(former.template.metadata ?? {}) as Record<string, unknown>;
  for (const name of ['nodeSelector', 'tolerations', 'schedulingGates'] as const) assign(target, name, next.spec?.[name]);
  const { nodeAffinity: _before, ...others } = former.template.spec?.affinity ?? {};
  const nodeAffinity = next.spec?.affinity?.nodeAffinity;
  const affinity = { ...others, ...(nodeAffinity && { nodeAffinity }) };
  assign(target, 'affinity', Object.keys(affinity).length > 0 || next.spec?.affinity ? affinity : undefined);
  for (const name of ['labels', 'annotations'] as const) assign(metadata, name, next.metadata?.[name]);
  return { metadata, spec: target } as PodTemplateSpec;
}

function assign(target: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) delete target[name];
  else target[name] = value;
}

const warnings = (object: ApiObject, old: ApiObject | undefined, dialect: Dialect): readonly string[] => [
  ...(old && equalValues(object['spec'], old['spec']) ? [] : jobSpecWarnings(specOf(object), 'spec')),
  ...ownerWarnings(templateOf, dialect)(object, old),
];

function completions(object: ApiObject): string {
  const { completions: wanted, parallelism = 0 } = specOf(object);
  const { succeeded = 0 } = statusOf(object);
  if (wanted !== undefined) return `${succeeded}/${wanted}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function state(object: ApiObject): string {
  const { conditions = [] } = statusOf(object);
  const holds = (type: string): boolean => conditions.find((each) => each.type === type)?.status === 'True';
  if (holds('Complete')) return 'Complete';
  if (holds('Failed')) return 'Failed';
  if (object.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget'].find(holds) ?? 'Running';
}

function duration(object: ApiObject, now: number): string {
  const { startTime, completionTime } = statusOf(object);
  if (startTime === undefined) return '';
  return humanDuration((completionTime === undefined ? now : Date.parse(completionTime)) - Date.parse(startTime));
}

export const job = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('batch'),
    kind: 'Job',
    categories: ['all'],
    schema: jobSchema,
    selectableFields: [selectable('status.successful', { at: ['status.succeeded'], absent: '0' })],
    columns: [
      nameColumn,
      column('Status', 'Whether the job runs, or how it ended.', state),
      column('Completions', 'Pods that succeeded, of those that must.', completions),
      column('Duration', 'How long the job took, or has been running.', duration),
      ageColumn,
      ...containerColumns(templateOf, wide),
      selectorColumn((object) => specOf(object).selector),
    ],
    strategy: {
      default: fillDefaults,
      prepareForCreate: clearStatus(jobSchema),
      completeNew: makeSelector,
      validateCreate: (object, context) => validate(object, context),
      validateUpdate: (object, old, context) => [...validate(object, context, old), ...validateChanges(object, old)],
      warnings: (object, old) => warnings(object, old, dialect),
    },
    subresources: [statusView(validateJobStatus)],
    generation: true,
    orphansByDefault: {
      warning: 'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
    },
  });
