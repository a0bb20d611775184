import { apiApproval } from '../../dialect/api-approval.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid, required } from '../../meta/field-error.ts';
import type { Definition, DefinitionCondition } from './custom-resource-definition.ts';

/** What the annotation of a definition says of its approval; `text` says it in words. */
interface Approval {
  readonly state: 'missing' | 'invalid' | 'approved' | 'unapproved';
  readonly text: string;
}

const annotationOf = (dialect: Dialect): string => `api-approved.${dialect.domain}`;

/** True of groups whose APIs need an approval. */
const isProtected = (group: string, { protectedDomains }: Dialect): boolean => protectedDomains.some((domain) => group === domain || group.endsWith(`.${domain}`));

/** States and texts are those of kube-apiserver: an address, or a reason that starts with `unapproved`. */
function approvalOf(annotations: Readonly<Record<string, string>> | undefined, dialect: Dialect): Approval {
  const name = annotationOf(dialect);
  const value = (annotations && Object.hasOwn(annotations, name) && annotations[name]) || '';
  const needed = `protected groups must have approval annotation ${JSON.stringify(name)}`;
  if (value === '') return { state: 'missing', text: `${needed}, see ${apiApproval.policy}` };
  if (value.startsWith('unapproved')) return { state: 'unapproved', text: `not approved: ${JSON.stringify(value)}` };
  if (isAddress(value)) return { state: 'approved', text: `approved in ${value}` };
  const detail = `with either a URL or a reason starting with "unapproved", see ${apiApproval.policy}`;
  return { state: 'invalid', text: `${needed} ${detail}` };
}

const isAddress = (value: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/?#]/i.test(value) && URL.canParse(value);

/** The error of a definition without a valid annotation. One whose state stays as it is passes. */
export function approvalErrors(object: ApiObject, old: ApiObject | undefined, group: string, dialect: Dialect): FieldError[] {
  if (!isProtected(group, dialect)) return [];
  const { state, text } = approvalOf(object.metadata.annotations, dialect);
  if (old && approvalOf(old.metadata.annotations, dialect).state === state) return [];
  const name = annotationOf(dialect);
  const field = `metadata.annotations[${name}]`;
  if (state === 'missing') return [required(field, text)];
  return state === 'invalid' ? [invalid(field, object.metadata.annotations?.[name], text)] : [];
}

/** The condition that says whether an API of a protected group is approved; undefined for other groups. */
export function approvalCondition({ metadata, spec }: Definition & ApiObject, dialect: Dialect): DefinitionCondition | undefined {
  if (!isProtected(spec?.group ?? '', dialect)) return undefined;
  const { state, text } = approvalOf(metadata.annotations, dialect);
  const status = state === 'approved' ? 'True' : 'False';
  return { type: apiApproval.condition, status, reason: reasons[state], message: text };
}

const reasons = {
  missing: 'MissingAnnotation',
  invalid: 'InvalidAnnotation',
  approved: 'ApprovedAnnotation',
  unapproved: 'UnapprovedAnnotation',
} as const satisfies Readonly<Record<Approval['state'], string>>;
