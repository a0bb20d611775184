import { bool, type Infer, list, opt, ptr, string, struct } from '../../schema/schema.ts';

/**
 * Fields of an AuthenticationConfiguration (spec section 5.5), the same in all of its versions. No field is required
 * here: validation reports missing ones, in kube-apiserver's words. Prefixes are pointers,
 * because an empty prefix differs from an absent one.
 */

const issuer = struct('api.apiserver.v1beta1.Issuer', 'The issuer of the tokens.', {
  url: opt(1, string(), 'Expected `iss` of tokens, and URL of the provider.'),
  discoveryURL: opt(2, string(), 'URL of the provider metadata, if not at the well-known path.'),
  certificateAuthority: opt(3, string(), 'Trust roots for connections to the provider, in PEM.'),
  audiences: opt(4, list(string()), 'Accepted audiences.'),
  audienceMatchPolicy: opt(5, string(), 'How audiences are compared.'),
});

const claimValidationRule = struct('api.apiserver.v1beta1.ClaimValidationRule', 'A validation rule for claims.', {
  claim: opt(1, string(), 'A required claim.'),
  requiredValue: opt(2, string(), 'Required value of the claim.'),
  expression: opt(3, string(), 'An expression over `claims` that must be true.'),
  message: opt(4, string(), 'Error message if the expression is false.'),
});

const prefixedMapping = struct('api.apiserver.v1beta1.PrefixedClaimOrExpression', 'Source of a value.', {
  claim: opt(1, string(), 'A claim.'),
  prefix: ptr(2, string(), 'Prefix for the value.'),
  expression: opt(3, string(), 'An expression over `claims`.'),
});

const mapping = struct('api.apiserver.v1beta1.ClaimOrExpression', 'Source of a value.', {
  claim: opt(1, string(), 'A claim.'),
  expression: opt(2, string(), 'An expression over `claims`.'),
});

const extraMapping = struct('api.apiserver.v1beta1.ExtraMapping', 'One extra attribute.', {
  key: opt(1, string(), 'Key, in the form domain/path.'),
  valueExpression: opt(2, string(), 'An expression over `claims`.'),
});

const claimMappings = struct('api.apiserver.v1beta1.ClaimMappings', 'Mapping of claims to a user.', {
  username: opt(1, prefixedMapping, 'The name.'),
  groups: opt(2, prefixedMapping, 'The groups.'),
  uid: opt(3, mapping, 'The uid.'),
  extra: opt(4, list(extraMapping), 'Extra attributes.'),
});

const userValidationRule = struct('api.apiserver.v1beta1.UserValidationRule', 'A validation rule for the user.', {
  expression: opt(1, string(), 'An expression over `user` that must be true.'),
  message: opt(2, string(), 'Error message if it is false.'),
});

const jwtAuthenticator = struct('api.apiserver.v1beta1.JWTAuthenticator', 'One provider.', {
  issuer: opt(1, issuer, 'The issuer of the tokens.'),
  claimValidationRules: opt(2, list(claimValidationRule), 'Validation rules for claims.'),
  claimMappings: opt(3, claimMappings, 'Mapping of claims to a user.'),
  userValidationRules: opt(4, list(userValidationRule), 'Validation rules for the user.'),
});

const anonymous = struct('api.apiserver.v1beta1.AnonymousAuthConfig', 'Requests without credentials.', {
  enabled: opt(1, bool(), 'Whether they are allowed.'),
  conditions: opt(
    2,
    list(
      struct('api.apiserver.v1beta1.AnonymousAuthCondition', 'Condition for anonymous requests.', {
        path: opt(1, string(), 'Path of the request.'),
      }),
    ),
    'Conditions for anonymous requests; empty: no condition.',
  ),
});

export const authenticationConfiguration = struct(
  'api.apiserver.v1beta1.AuthenticationConfiguration',
  'How requests are authenticated.',
  {
    jwt: opt(1, list(jwtAuthenticator), 'Providers whose tokens are accepted.'),
    anonymous: ptr(2, anonymous, 'Requests without credentials.'),
  },
);

export type IssuerFields = Infer<typeof issuer>;
export type ClaimValidationRuleFields = Infer<typeof claimValidationRule>;
export type PrefixedMappingFields = Infer<typeof prefixedMapping>;
export type MappingFields = Infer<typeof mapping>;
export type ExtraMappingFields = Infer<typeof extraMapping>;
export type ClaimMappingsFields = Infer<typeof claimMappings>;
export type UserValidationRuleFields = Infer<typeof userValidationRule>;
export type JwtAuthenticatorFields = Infer<typeof jwtAuthenticator>;
export type AnonymousFields = Infer<typeof anonymous>;
