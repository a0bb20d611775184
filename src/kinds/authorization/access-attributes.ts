import type { FieldError } from '../../meta/field-error.ts';
import { invalid } from '../../meta/field-error.ts';
import type { Attributes, ResourceAttributes } from '../../request/authorization-attributes.ts';
import { shownAsGo } from '../../schema/go-text.ts';
import { type Infer, opt, ptr, string, struct } from '../../schema/schema.ts';
import { fieldSelectorAttributes, labelSelectorAttributes, type ReadSelector, readFieldSelector, readLabelSelector, validateFieldSelector, validateLabelSelector } from './selector-attributes.ts';

const resourceAttributes = struct('api.authorization.v1.ResourceAttributes', 'A request for objects.', {
  namespace: opt(1, string(), 'Namespace of the objects; empty for all, and for those that are in none.'),
  verb: opt(2, string(), 'What is done: `get`, `list`, `create` and so on; `*` is everything.'),
  group: opt(3, string(), 'API group; empty is the core group, `*` all.'),
  version: opt(4, string(), 'API version; empty and `*` are all.'),
  resource: opt(5, string(), 'Resource; `*` is all.'),
  subresource: opt(6, string(), 'Subresource; empty is none.'),
  name: opt(7, string(), 'Name of the object; empty is all.'),
  fieldSelector: ptr(8, fieldSelectorAttributes, 'Limits the request by fields; it never broadens it.'),
  labelSelector: ptr(9, labelSelectorAttributes, 'Limits the request by labels; it never broadens it.'),
});

const nonResourceAttributes = struct('api.authorization.v1.NonResourceAttributes', 'A request for a path.', {
  path: opt(1, string(), 'The path.'),
  verb: opt(2, string(), 'The HTTP method in lower case.'),
});

/** The request attributes of every access review; exactly one of the two is set. */
export const attributeFields = {
  resourceAttributes: ptr(1, resourceAttributes, 'A request for objects.'),
  nonResourceAttributes: ptr(2, nonResourceAttributes, 'A request for a path.'),
} as const;

type SentResource = Infer<typeof resourceAttributes>;

export interface SentAttributes {
  readonly resourceAttributes?: SentResource;
  readonly nonResourceAttributes?: Infer<typeof nonResourceAttributes>;
}

/** Requires exactly one of resource and non-resource attributes, and valid selectors. Errors of the subject come in between, as in kube-apiserver. */
export function validateAttributes(sent: SentAttributes, ofSubject: readonly FieldError[] = []): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: path } = sent;
  if (!resource && !path) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return [invalid('spec.resourceAttributes', null, why), ...ofSubject];
  }
  const at = 'spec.resourceAttributes';
  return [
    ...(resource && path ? [invalidPath(path, 'cannot be specified in combination with resourceAttributes')] : []),
    ...ofSubject,
    ...validateFieldSelector(resource?.fieldSelector, `${at}.fieldSelector`),
    ...validateLabelSelector(resource?.labelSelector, `${at}.labelSelector`),
  ];
}

export const invalidPath = (path: SentAttributes['nonResourceAttributes'], detail: string): FieldError => shownAsGo(invalid('spec.nonResourceAttributes', path, detail), nonResourceAttributes);

interface ReadAttributes {
  readonly attributes: Attributes;
  /** Messages about selectors that could not be parsed and were ignored. */
  readonly problems: readonly string[];
}

/** The attributes for the authorizers, from a validated review. */
export function readAttributes({ resourceAttributes: resource, nonResourceAttributes: path }: SentAttributes): ReadAttributes {
  if (resource) return readResource(resource);
  return { attributes: { type: 'path', verb: path?.verb ?? '', path: path?.path ?? '' }, problems: [] };
}

function readResource(sent: SentResource): ReadAttributes {
  const fields = readFieldSelector(sent.fieldSelector);
  const labels = readLabelSelector(sent.labelSelector);
  return {
    attributes: { ...plainAttributes(sent), fieldSelector: fields.selector, labelSelector: labels.selector },
    problems: [...problemsOf('fieldSelector', fields), ...problemsOf('labelSelector', labels)],
  };
}

const plainAttributes = (sent: SentResource): ResourceAttributes => ({
  type: 'resource',
  verb: sent.verb ?? '',
  group: sent.group ?? '',
  version: sent.version ?? '*',
  resource: sent.resource ?? '',
  subresource: sent.subresource ?? '',
  namespace: sent.namespace ?? '',
  name: sent.name ?? '',
});

function problemsOf(field: string, { selector, complete }: ReadSelector): readonly string[] {
  if (complete) return [];
  return [`spec.resourceAttributes.${field} ${selector ? 'partially ' : ''}ignored due to parse error`];
}
