import { bool, type Infer, list, opt, ptr, string, struct } from '../../schema/schema.ts';

/**
 * Fields of an AuthenticationConfiguration (spec section 5.5), the same in all of its versions. No field is required
 * here: validation reports missing ones, in kube-apiserver's words.
 */

/** Prefixes are pointers because an empty prefix differs from an absent one. */

const issuer = struct('api.apiserver.v1beta1.Issuer', 'Who issues the tokens.', {
  url: opt(1, string(), 'What `iss` of a token must be, and where the provider is.'),
  discoveryURL: opt(2, string(), 'Where the provider describes itself, if not in the usual place.'),
  certificateAuthority: opt(3, string(), 'Authorities that vouch for the provider, in PEM.'),
  audiences: opt(4, list(string()), 'Whom tokens may be meant for.'),
  audienceMatchPolicy: opt(5, string(), 'How audiences are compared.'),
});

const claimValidationRule = struct('api.apiserver.v1beta1.ClaimValidationRule', 'What claims must be like.', {
  claim: opt(1, string(), 'A claim that must be there.'),
  requiredValue: opt(2, string(), 'What it must hold.'),
  expression: opt(3, string(), 'An expression over `claims` that must be true.'),
  message: opt(4, string(), 'What is said where the expression is not.'),
});

const prefixedMapping = struct('api.apiserver.v1beta1.PrefixedClaimOrExpression', 'Where a value comes from.', {
  claim: opt(1, string(), 'A claim.'),
  prefix: ptr(2, string(), 'What stands before it.'),
  expression: opt(3, string(), 'An expression over `claims`.'),
});

const mapping = struct('api.apiserver.v1beta1.ClaimOrExpression', 'Where a value comes from.', {
  claim: opt(1, string(), 'A claim.'),
  expression: opt(2, string(), 'An expression over `claims`.'),
});

const extraMapping = struct('api.apiserver.v1beta1.ExtraMapping', 'One extra attribute.', {
  key: opt(1, string(), 'Its key, with a domain before a slash.'),
  valueExpression: opt(2, string(), 'An expression over `claims`.'),
});

const claimMappings = struct('api.apiserver.v1beta1.ClaimMappings', 'How claims make a user.', {
  username: opt(1, prefixedMapping, 'The name.'),
  groups: opt(2, prefixedMapping, 'The groups.'),
  uid: opt(3, mapping, 'The uid.'),
  extra: opt(4, list(extraMapping), 'Extra attributes.'),
});

const userValidationRule = struct('api.apiserver.v1beta1.UserValidationRule', 'What the user must be like.', {
  expression: opt(1, string(), 'An expression over `user` that must be true.'),
  message: opt(2, string(), 'What is said where it is not.'),
});

const jwtAuthenticator = struct('api.apiserver.v1beta1.JWTAuthenticator', 'One provider.', {
  issuer: opt(1, issuer, 'Who issues the tokens.'),
  claimValidationRules: opt(2, list(claimValidationRule), 'What claims must be like.'),
  claimMappings: opt(3, claimMappings, 'How claims make a user.'),
  userValidationRules: opt(4, list(userValidationRule), 'What the user must be like.'),
});

const anonymous = struct('api.apiserver.v1beta1.AnonymousAuthConfig', 'Requests without a credential.', {
  enabled: opt(1, bool(), 'Whether they are served.'),
  conditions: opt(
    2,
    list(
      struct('api.apiserver.v1beta1.AnonymousAuthCondition', 'For what.', {
        path: opt(1, string(), 'The path of the request.'),
      }),
    ),
    'For what; everything where there is none.',
  ),
});

export const authenticationConfiguration = struct(
  'api.apiserver.v1beta1.AuthenticationConfiguration',
  'How requests are authenticated.',
  {
    jwt: opt(1, list(jwtAuthenticator), 'Providers whose tokens are accepted.'),
    anonymous: ptr(2, anonymous, 'Requests without a credential.'),
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
