/** Paths of the documents for verifying this server's tokens (OpenID Connect Discovery 1.0, sections 3 and 4). */
export const openidConfigurationPath = '/.well-known/openid-configuration';
export const jwksPath = '/openid/v1/jwks';
