import type { Dialect } from '../../dialect/dialect.ts';
import { badRequest, internalError } from '../../meta/status-error.ts';
import { always, bool, type Infer, list, opt, req, string, struct } from '../../schema/schema.ts';
import { answeredKind } from '../answered-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import type { AuthenticatedToken, KindServices } from '../services.ts';
import { typed } from '../typed.ts';
import { userInfo, userInfoOf } from './user-info.ts';

const spec = struct('api.authentication.v1.TokenReviewSpec', 'The token that is asked about.', {
  token: opt(1, string(), 'The bearer token.'),
  audiences: opt(2, list(string()), 'Whom the one that asks takes itself for; the token must be meant for at least one. Empty: the API server.'),
});

const status = struct('api.authentication.v1.TokenReviewStatus', 'Whose the token is.', {
  authenticated: opt(1, bool(), 'The token is that of a known user.'),
  user: always(2, userInfo, 'That user.'),
  error: opt(3, string(), 'Why the token could not be checked.'),
  audiences: opt(4, list(string()), 'Those of the audiences asked for that the token is meant for. Empty on success: it is meant for the API server.'),
});

const schema = kindSchema('api.authentication.v1.TokenReview', 'Asks whose a token is.', {
  spec: req(2, spec, 'What is asked.', { presence: 'always' }),
  status: always(3, status, 'The answer; filled in by the server.'),
});

type Status = Infer<typeof status>;

/** TokenReview (spec section 2.4). */
export const tokenReview = (dialect: Dialect): Kind =>
  answeredKind({
    group: dialect.group('authentication'),
    kind: 'TokenReview',
    scope: 'Cluster',
    schema,
    async answer(object, { services }) {
      const { token = '', audiences = [] } = typed(schema, object).spec;
      if (token === '') throw badRequest('token is required for TokenReview in authentication');
      return { ...object, status: await review(services, token, audiences) };
    },
  });

/** As in kube-apiserver, for a token that no authenticator recognizes. What an authenticator says of one comes after it. */
const unknownToken: Status = { user: {}, error: 'invalid bearer token' };

async function review(services: KindServices, token: string, named: readonly string[]): Promise<Status> {
  const asked = named.length > 0 ? named : services.apiAudiences;
  let found: AuthenticatedToken | undefined;
  try {
    found = await services.authenticateToken(token, asked);
  } catch (error) {
    // An authentication error is a result of the review, not a failure: the token is invalid or could not be checked.
    const problem = error instanceof Error ? error.message : 'the token could not be checked';
    return { user: {}, error: `[${unknownToken.error}, ${problem}]` };
  }
  if (!found) return unknownToken;
  const audiences = compatible(asked, found, services.apiAudiences);
  if (asked.length > 0 && audiences.length === 0) {
    if (!found.audiences) return unknownToken; // the token is for the API server, which is not a requested audience
    throw internalError(new Error('an authenticator accepted a token for audiences that were not asked for'));
  }
  return { authenticated: true, user: userInfoOf(found.user), ...(audiences.length > 0 && { audiences }) };
}

function compatible(asked: readonly string[], { audiences }: AuthenticatedToken, apiAudiences: readonly string[]): string[] {
  const meant = new Set(audiences ?? apiAudiences);
  return asked.filter((audience) => meant.has(audience));
}
