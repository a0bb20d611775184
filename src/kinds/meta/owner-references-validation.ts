import type { OwnerReference } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid } from '../../meta/field-error.ts';
import { goText } from '../../schema/go-text.ts';
import { ownerReference } from './object-meta.ts';

/** Requires complete references and at most one controller. Error paths have no index, as in kube-apiserver. */
export function validateOwnerReferences(references: readonly OwnerReference[], field: string): FieldError[] {
  const controllers = references.filter(({ controller }) => controller);
  return [
    ...errorsOfEach(references, (reference) => validateOwnerReference(reference, field)),
    // No value: it would be repeated for every additional controller.
    ...errorsOfEach(controllers.slice(1), (other) => [
      invalid(field, undefined, secondController(controllers[0], other)),
    ]),
  ];
}

const secondController = (first: OwnerReference | undefined, second: OwnerReference): string =>
  `Only one reference can have Controller set to true. Found "true" in references for ${first?.kind}/${first?.name} and ${second.kind}/${second.name}`;

function validateOwnerReference(reference: OwnerReference, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const { group, version } = splitApiVersion(reference.apiVersion ?? '');
  if (version === '')
    errors.push(invalid(`${field}.apiVersion`, reference.apiVersion ?? '', 'version must not be empty'));
  for (const name of ['kind', 'name', 'uid'] as const) {
    if (!reference[name]) errors.push(invalid(`${field}.${name}`, reference[name] ?? '', `${name} must not be empty`));
  }
  // Events expire, so they may not own other objects.
  if (group === '' && version === 'v1' && reference.kind === 'Event') {
    const shown = goText(ownerReference, reference);
    errors.push({ ...invalid(field, reference, '/v1, Kind=Event is disallowed from being an owner'), shown });
  }
  return errors;
}

function splitApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const parts = apiVersion.split('/');
  if (parts.length > 2) return { group: '', version: '' };
  return { group: parts.length === 2 ? (parts[0] ?? '') : '', version: parts.at(-1) ?? '' };
}
