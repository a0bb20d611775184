import type { ApiObject } from '../../meta/api-object.ts';
import { ageColumn, column, countAt, nameColumn } from '../columns.ts';
import type { Column } from '../kind.ts';
import type { ParamKind, ParamRef } from './policy-schema.ts';

const unset = '<unset>';

/** Columns of a policy whose rules are counted at a path. */
export const policyColumns = (title: string, description: string, path: string): readonly Column[] => [
  nameColumn,
  column(title, description, countAt(path), { type: 'integer' }),
  column('ParamKind', 'The kind of the objects that parameterize the policy.', shownKind),
  ageColumn,
];

export const bindingColumns: readonly Column[] = [
  nameColumn,
  column('PolicyName', 'The policy that is put into force.', '.spec.policyName'),
  column('ParamRef', 'The objects that parameterize the policy.', shownRef),
  ageColumn,
];

function shownKind(object: ApiObject): string {
  const { spec } = object as ApiObject & { readonly spec?: { readonly paramKind?: ParamKind } };
  return spec?.paramKind ? `${spec.paramKind.apiVersion ?? ''}/${spec.paramKind.kind ?? ''}` : unset;
}

function shownRef(object: ApiObject): string {
  const { spec } = object as ApiObject & { readonly spec?: { readonly paramRef?: ParamRef } };
  const { name = '', namespace = '', selector } = spec?.paramRef ?? {};
  // The object may be cluster-scoped, or in the namespace of the request.
  if (name !== '') return `${namespace === '' ? '*' : namespace}/${name}`;
  return selector ? shownSelector(selector) : unset;
}

/** A selector as published servers show it. */
function shownSelector({ matchLabels = {}, matchExpressions = [] }: NonNullable<ParamRef['selector']>): string {
  const keys = Object.keys(matchLabels).sort();
  const labels = keys.map((key) => `${key}: ${matchLabels[key]},`).join('');
  const expressions = matchExpressions.map(
    ({ key = '', operator = '', values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${labels}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`;
}
