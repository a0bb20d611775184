import type { Dialect } from '../../dialect/dialect.ts';
import type { Requirement, Selector } from '../../meta/selectors.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { Attributes, ResourceAttributes } from '../authorizer.ts';

/** Versions of SubjectAccessReview that a webhook may use. */
export type ReviewVersion = 'v1' | 'v1beta1';

/** The `spec` of a `v1` SubjectAccessReview with all fields, empty ones too, as match conditions see it in `request`. */
export interface ReviewSpec {
  readonly resourceAttributes?: ReviewedResource;
  readonly nonResourceAttributes?: { readonly path: string; readonly verb: string };
  readonly user: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
  readonly uid: string;
}

interface ReviewedResource {
  readonly namespace: string;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly fieldSelector?: ReviewedSelector;
  readonly labelSelector?: ReviewedSelector;
}

interface ReviewedSelector {
  readonly requirements: readonly ReviewedRequirement[];
}

interface ReviewedRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: readonly string[];
}

/** Path of the review endpoint of an API server, for a webhook that is one. */
export const reviewPath = (dialect: Dialect, version: ReviewVersion): string =>
  `/apis/${dialect.group('authorization')}/${version}/subjectaccessreviews`;

/** The review of a request. */
export function reviewSpec(attributes: Attributes, user: UserInfo): ReviewSpec {
  const { username, groups, extra, uid } = user;
  const who = { user: username, groups, extra, uid };
  if (attributes.type === 'resource') return { resourceAttributes: reviewedResource(attributes), ...who };
  return { nonResourceAttributes: { path: attributes.path, verb: attributes.verb }, ...who };
}

function reviewedResource(attributes: ResourceAttributes): ReviewedResource {
  const { namespace, verb, group, version, resource, subresource, name } = attributes;
  const fieldSelector = reviewedSelector(attributes.fieldSelector);
  const labelSelector = reviewedSelector(attributes.labelSelector);
  return {
    ...{ namespace, verb, group, version, resource, subresource, name },
    ...(fieldSelector && { fieldSelector }),
    ...(labelSelector && { labelSelector }),
  };
}

/** Requirements that a review cannot express are omitted, which makes the review broader. */
function reviewedSelector(selector: Selector | undefined): ReviewedSelector | undefined {
  const requirements = selector?.flatMap(reviewedRequirement) ?? [];
  return requirements.length === 0 ? undefined : { requirements };
}

const operators = { in: 'In', notin: 'NotIn', exists: 'Exists', absent: 'DoesNotExist' } as const;

function reviewedRequirement(requirement: Requirement): readonly ReviewedRequirement[] {
  const { operator, key } = requirement;
  if (operator === 'gt' || operator === 'lt') return [];
  return [{ key, operator: operators[operator], values: 'values' in requirement ? [...requirement.values] : [] }];
}

/** The JSON to send. Empty fields are omitted; `v1beta1` names the groups `group`, as in Kubernetes. */
export function reviewBody(
  spec: ReviewSpec,
  { apiVersion, version }: { readonly apiVersion: string; readonly version: ReviewVersion },
): string {
  const { resourceAttributes, nonResourceAttributes, user, groups, extra, uid } = spec;
  const sent = withoutEmpty({
    resourceAttributes: resourceAttributes && sentResource(resourceAttributes),
    nonResourceAttributes: nonResourceAttributes && withoutEmpty(nonResourceAttributes),
    user,
    [version === 'v1' ? 'groups' : 'group']: groups,
    extra: Object.keys(extra).length > 0 ? extra : undefined,
    uid,
  });
  return JSON.stringify({ apiVersion, kind: 'SubjectAccessReview', spec: sent });
}

function sentResource({ fieldSelector, labelSelector, ...rest }: ReviewedResource): object {
  return withoutEmpty({
    ...rest,
    fieldSelector: fieldSelector && sentSelector(fieldSelector),
    labelSelector: labelSelector && sentSelector(labelSelector),
  });
}

const sentSelector = ({ requirements }: ReviewedSelector): object => ({ requirements: requirements.map(withoutEmpty) });

const withoutEmpty = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== '' && !(Array.isArray(value) && value.length === 0)),
  );
