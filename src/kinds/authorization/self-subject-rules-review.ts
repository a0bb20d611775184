import type { Dialect } from '../../dialect/dialect.ts';
import { badRequest } from '../../meta/status-error.ts';
import type { UserRules } from '../../request/access.ts';
import { always, bool, type Infer, list, opt, req, string, struct } from '../../schema/schema.ts';
import { answeredKind } from '../answered-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const verbs = req(1, list(string()), 'What is allowed; `*` is everything.');

const resourceRule = struct('api.authorization.v1.ResourceRule', 'Something that is allowed with objects.', {
  verbs,
  apiGroups: opt(2, list(string()), 'API groups of the resources; `*` is all.'),
  resources: opt(3, list(string()), 'Resources; `*` is all, `*/x` the subresource x of all.'),
  resourceNames: opt(4, list(string()), 'Names of the objects; empty is all.'),
});

const nonResourceRule = struct('api.authorization.v1.NonResourceRule', 'Something that is allowed with paths.', {
  verbs,
  nonResourceURLs: opt(2, list(string()), 'Paths; a `*` at the end stands for whatever follows.'),
});

const spec = struct('api.authorization.v1.SelfSubjectRulesReviewSpec', 'Where the rules shall hold.', {
  namespace: opt(1, string(), 'The namespace; it must be given.'),
});

const status = struct('api.authorization.v1.SubjectRulesReviewStatus', 'What is allowed.', {
  resourceRules: req(1, list(resourceRule), 'What is allowed with objects, in no order.'),
  nonResourceRules: req(2, list(nonResourceRule), 'What is allowed with paths, in no order.'),
  incomplete: req(3, bool(), 'There may be more: not every authorizer can tell what it allows.', { presence: 'always' }),
  evaluationError: opt(4, string(), 'What went wrong; the rules that are listed hold all the same.'),
});

const schema = kindSchema('api.authorization.v1.SelfSubjectRulesReview', 'Asks what all the caller may do.', {
  spec: req(2, spec, 'What is asked.', { presence: 'always' }),
  status: always(3, status, 'The answer; filled in by the server.'),
});

/** SelfSubjectRulesReview: for display, not for authorization decisions. The response contains nothing of the request. */
export const selfSubjectRulesReview = (dialect: Dialect): Kind =>
  answeredKind({
    group: dialect.group('authorization'),
    kind: 'SelfSubjectRulesReview',
    scope: 'Cluster',
    schema,
    async answer(object, { user, services }) {
      const { namespace = '' } = typed(schema, object).spec;
      if (namespace === '') throw badRequest('no namespace on request');
      const { kind, apiVersion } = object;
      const rules = statusOf(await services.rulesFor(user, namespace));
      return { kind, apiVersion, metadata: noMetadata, spec: {}, status: rules };
    },
  });

/** The Go type always writes this field, as null if unset. */
const noMetadata = { creationTimestamp: null } as object;

const statusOf = ({ resourceRules, pathRules, incomplete, errors }: UserRules): Infer<typeof status> => ({
  resourceRules: resourceRules.map((rule) => ({
    verbs: [...rule.verbs],
    ...(rule.apiGroups.length > 0 && { apiGroups: [...rule.apiGroups] }),
    ...(rule.resources.length > 0 && { resources: [...rule.resources] }),
    ...(rule.resourceNames.length > 0 && { resourceNames: [...rule.resourceNames] }),
  })),
  nonResourceRules: pathRules.map((rule) => ({
    verbs: [...rule.verbs],
    ...(rule.nonResourceURLs.length > 0 && { nonResourceURLs: [...rule.nonResourceURLs] }),
  })),
  incomplete,
  ...(errors.length > 0 && { evaluationError: errors.length === 1 ? `${errors[0]}` : `[${errors.join(', ')}]` }),
});
