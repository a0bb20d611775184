import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { type FieldError, forbidden, toldAfter } from '../../../meta/field-error.ts';
import { always, type Infer, struct } from '../../../schema/schema.ts';
import { column, none } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import { validateAnnotations, validateLabels } from '../../meta/metadata-validation.ts';
import { objectMeta } from '../../meta/object-meta.ts';
import { defaultPodSpec } from './pod-defaults.ts';
import { podSpec } from './pod-spec.ts';
import { podWarnings } from './pod-warnings.ts';
import { validatePodAnnotations } from './validation/annotation-validation.ts';
import { validateCounts, validatePodSpec } from './validation/pod-validation.ts';

/** The template of which pods are made, in all kinds that make pods. */
export const podTemplateSpec = struct('api.core.v1.PodTemplateSpec', 'What pods are made of.', {
  metadata: always(1, objectMeta, 'Labels and annotations of the pods.'),
  spec: always(2, podSpec, 'What the pods run.'),
});

export type PodTemplateSpec = Infer<typeof podTemplateSpec>;

/** Sets the defaults of a template that depend on other fields. */
export function defaultPodTemplate(template: PodTemplateSpec | undefined): void {
  if (template?.spec) defaultPodSpec(template.spec);
}

/** Errors of a template. As in kube-apiserver, those of labels and annotations name no `metadata`. */
export function validatePodTemplate(template: PodTemplateSpec, path: string, dialect: Dialect): FieldError[] {
  const { spec = { containers: [] } } = template;
  const counts = validateCounts(spec);
  const ephemeral = (spec.ephemeralContainers ?? []).length > 0;
  return [
    ...validateTemplateMetadata(template, path, dialect),
    ...(counts.length > 0 ? counts : validatePodSpec({ metadata: {}, spec } as unknown as ApiObject, dialect, 'template')).map((error) =>
      error.field.startsWith('metadata') ? error : { ...error, field: `${path}.${error.field}` },
    ),
    ...toldAfter(path, ephemeral ? [forbidden(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template')] : []),
  ];
}

/** Errors of a template's labels and annotations. */
export function validateTemplateMetadata({ metadata = {}, spec = { containers: [] } }: PodTemplateSpec, path: string, dialect: Dialect): FieldError[] {
  const { labels = {}, annotations = {} } = metadata;
  return [
    ...validateLabels(labels, `${path}.labels`),
    ...validateAnnotations(annotations, `${path}.annotations`),
    ...validatePodAnnotations(annotations, spec, { path: `${path}.annotations`, dialect }),
  ];
}

/** Warnings about a template, of new objects and of those whose desired state changed. */
export const templateWarnings = (template: PodTemplateSpec | undefined, path: string, dialect: Dialect): readonly string[] => (template ? podWarnings(template, { path, dialect }) : []);

type Template = (object: ApiObject) => PodTemplateSpec | undefined;

const joined = (values: readonly (string | undefined)[]): string => values.map((value) => value ?? '').join(',');

/** Columns of the names and images of a template's containers. */
export const containerColumns = (template: Template, options: { readonly priority?: number } = {}): readonly Column[] => [
  column('Containers', 'Names of the containers.', (object) => joined((template(object)?.spec?.containers ?? []).map(({ name }) => name)), options),
  column('Images', 'Images of the containers.', (object) => joined((template(object)?.spec?.containers ?? []).map(({ image }) => image)), options),
];

/** Labels as text, sorted. */
export const labelsText = (labels: Readonly<Record<string, string>> = {}): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(',') || none;
