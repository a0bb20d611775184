import type { ApiObject } from '../../meta/api-object.ts';
import { always, type Infer, int64, list, opt, ptr, req, string, struct, time } from '../../schema/schema.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const boundObject = struct('api.authentication.v1.BoundObjectReference', 'The object that a token is bound to.', {
  kind: opt(1, string(), 'Kind of the object: `Pod`, `Secret` or `Node`.'),
  apiVersion: opt(2, string(), 'API version of the object.'),
  name: opt(3, string(), 'Name of the object.'),
  uid: opt(4, string(), 'Identity of the object; when given, it must be that of the object found.'),
});

const spec = struct('api.authentication.v1.TokenRequestSpec', 'The token that is asked for.', {
  audiences: req(1, list(string()), 'Whom the token is for; empty stands for the API server.'),
  expirationSeconds: ptr(4, int64(), 'How long the token shall be valid; the answer says how long it will be.', { default: 3600 }),
  boundObjectRef: ptr(3, boundObject, 'The token is valid for as long as this object is there.'),
});

const status = struct('api.authentication.v1.TokenRequestStatus', 'The token.', {
  token: req(1, string(), 'The bearer token.', { presence: 'always' }),
  expirationTimestamp: req(2, time(), 'When the token expires.', { presence: 'always' }),
});

/** TokenRequest (spec section 2.3). */
export const tokenRequestSchema = kindSchema('api.authentication.v1.TokenRequest', 'Asks for a token of an account.', {
  spec: req(2, spec, 'What is asked for.', { presence: 'always' }),
  status: always(3, status, 'The answer; filled in by the server.'),
});

type TokenRequest = Infer<typeof tokenRequestSchema>;
export type BoundObjectReference = Infer<typeof boundObject>;

/** Casts a decoded TokenRequest to its static type. */
export const asTokenRequest = (object: ApiObject): TokenRequest => typed(tokenRequestSchema, object);
