import { type FieldError, invalid, required } from '../../meta/field-error.ts';
import type { DefinitionVersion } from './custom-resource-definition.ts';
import { simplePathErrors } from './simple-path.ts';

/** Errors of the paths of the subresource `scale`; `status` has nothing to be wrong. */
export function subresourcesErrors({ scale }: NonNullable<DefinitionVersion['subresources']>, path: string): FieldError[] {
  if (!scale) return [];
  const { specReplicasPath = '', statusReplicasPath = '', labelSelectorPath = '' } = scale;
  const replicas = (name: string, value: string, within: string): FieldError[] => {
    const field = `${path}.scale.${name}`;
    return value === '' ? [required(field)] : pathErrors(value, field, [`.${within}.`], `under .${within}`);
  };
  const selector = `${path}.scale.labelSelectorPath`;
  return [
    ...replicas('specReplicasPath', specReplicasPath, 'spec'),
    ...replicas('statusReplicasPath', statusReplicasPath, 'status'),
    ...(labelSelectorPath === '' ? [] : pathErrors(labelSelectorPath, selector, ['.spec.', '.status.'], 'under either .spec or .status')),
  ];
}

function pathErrors(value: string, field: string, prefixes: readonly string[], where: string): FieldError[] {
  const errors = simplePathErrors(value, field);
  if (errors.length > 0 || prefixes.some((prefix) => value.startsWith(prefix))) return errors;
  return [invalid(field, value, `should be a json path ${where}`)];
}
