import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { shownAsGo } from '../../schema/go-text.ts';
import { always, bool, type Infer, list, map, opt, req, string, struct } from '../../schema/schema.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { objectMeta } from '../meta/object-meta.ts';
import type { KindServices } from '../services.ts';
import { attributeFields, readAttributes, type SentAttributes, validateAttributes } from './access-attributes.ts';

/** Shared parts of the access review kinds (spec section 5.7). */

const status = struct('api.authorization.v1.SubjectAccessReviewStatus', 'What the authorizers say.', {
  allowed: req(1, bool(), 'The request would be allowed.', { presence: 'always' }),
  denied: opt(4, bool(), 'The request would be denied, whatever other authorizers say. False: none says so.'),
  reason: opt(2, string(), 'Why.'),
  evaluationError: opt(3, string(), 'What went wrong on the way to the answer, which holds all the same.'),
});

const answer = always(3, status, 'The answer; filled in by the server.');

const subjectSpec = struct('api.authorization.v1.SubjectAccessReviewSpec', 'A request, and whose it is.', {
  ...attributeFields,
  user: opt(3, string(), 'Name of the user. Without groups, a user that is in none.'),
  groups: opt(4, list(string()), 'Groups of the user.'),
  extra: opt(5, map(list(string(), { typeUndocumented: true })), 'What else is known of the user.'),
  uid: opt(6, string(), 'Identity of the user.'),
});

const selfSpec = struct('api.authorization.v1.SelfSubjectAccessReviewSpec', 'A request of the caller.', attributeFields);

/** Schema of reviews whose spec names the user. */
export const subjectReviewSchema = (kind: string, description: string) =>
  kindSchema(`api.authorization.v1.${kind}`, description, {
    spec: req(2, subjectSpec, 'What is asked.', { presence: 'always' }),
    status: answer,
  });

export const selfReviewSchema = kindSchema('api.authorization.v1.SelfSubjectAccessReview', 'Asks what the caller may do.', {
  spec: req(2, selfSpec, 'What is asked.', { presence: 'always' }),
  status: answer,
});

type SubjectSpec = Infer<typeof subjectSpec>;

/** Validates the attributes and the subject. */
export const validateSubjectSpec = (spec: SubjectSpec): FieldError[] => [
  ...validateAttributes(spec, !spec.user && (spec.groups ?? []).length === 0 ? [invalid('spec.user', '', 'at least one of user or group must be specified')] : []),
];

/** Rejects metadata, which has no meaning in a review, except `managedFields` and the `allowed` fields. */
export function validateNoMetadata({ metadata }: ApiObject, allowed: readonly string[] = [], detail = 'must be empty'): FieldError[] {
  const said = Object.entries(metadata).some(([field, value]) => value !== null && field !== 'managedFields' && !allowed.includes(field));
  return said ? [shownAsGo(invalid('metadata', metadata, detail), objectMeta)] : [];
}

export const subjectOf = ({ user = '', uid = '', groups = [], extra = {} }: SubjectSpec): UserInfo => ({
  username: user,
  uid,
  groups,
  extra,
});

/** Authorizes the attributes and returns the review with its status. */
export async function answerReview(object: ApiObject, services: KindServices, user: UserInfo, asked: SentAttributes): Promise<ApiObject> {
  const { attributes, problems } = readAttributes(asked);
  const { verdict, reason, evaluationError } = await services.authorize(user, attributes);
  const errors = [...(evaluationError ? [evaluationError] : []), ...problems];
  const answered: Infer<typeof status> = {
    allowed: verdict === 'allow',
    ...(verdict === 'deny' && { denied: true }),
    ...(reason !== '' && { reason }),
    ...(errors.length > 0 && { evaluationError: errors.join('; ') }),
  };
  return { ...object, status: answered };
}
