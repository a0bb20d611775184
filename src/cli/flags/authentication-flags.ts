import { boolean, choice, duration, file, list, map, optionalText, orUndefined, repeated } from './flags.ts';

/** Authentication flags (spec section 5). Names not given by the spec are those of kube-apiserver 1.32. */
export const authenticationFlags = {
  'anonymous-auth': orUndefined(
    boolean({ default: true, help: 'serve requests without a credential as system:anonymous' }),
  ),
  'api-audiences': list({
    default: [],
    defaultText: 'the issuers of service account tokens',
    help: 'the audiences by which this server identifies itself: a token that means none of them is refused',
  }),
  'authentication-config': file({
    help: 'an AuthenticationConfiguration: OpenID Connect providers and anonymous access; read again when it changes',
  }),
  'authentication-token-webhook-cache-ttl': duration({
    default: 120_000,
    defaultText: '2m0s',
    help: 'how long answers of the token webhook are kept',
  }),
  'authentication-token-webhook-config-file': file({
    help: 'how to reach a service that reviews bearer tokens, in the format of a kubeconfig',
  }),
  'authentication-token-webhook-version': choice({
    of: ['v1beta1', 'v1'],
    default: 'v1beta1',
    help: 'the version of the TokenReview that it is sent',
  }),
  'client-ca-file': file({
    help: 'authorities (PEM) whose client certificates identify users; read again when it changes',
  }),
  'enable-bootstrap-token-auth': boolean({
    default: false,
    help: 'take tokens of Secrets of the bootstrap type in the system namespace',
  }),
  'oidc-ca-file': file({ help: 'authorities (PEM) of the OpenID provider; otherwise those of the system' }),
  'oidc-client-id': optionalText({ help: 'the audience that all ID tokens must have' }),
  'oidc-groups-claim': optionalText({ help: "the claim that holds a user's groups" }),
  'oidc-groups-prefix': optionalText({ help: 'what is put before the groups of that claim' }),
  'oidc-issuer-url': optionalText({
    placeholder: 'URL',
    help: 'the OpenID provider whose ID tokens identify users; https only',
  }),
  'oidc-required-claim': orUndefined(map({ help: 'claims that an ID token must have with that value' })),
  'oidc-signing-algs': orUndefined(list({ default: ['RS256'], help: 'algorithms by which ID tokens may be signed' })),
  'oidc-username-claim': optionalText({ defaultText: 'sub', help: "the claim that holds a user's name" }),
  'oidc-username-prefix': optionalText({
    defaultText: '<issuer url># unless the claim is email',
    help: 'what is put before the user name; - for nothing',
  }),
  'requestheader-allowed-names': list({
    default: [],
    help: 'common names that a proxy may have; any when none is given',
  }),
  'requestheader-client-ca-file': file({
    help: 'authorities (PEM) of proxies that say in headers whom they speak for; read again when it changes',
  }),
  'requestheader-extra-headers-prefix': list({
    default: [],
    help: 'what headers with extra attributes begin with; X-Remote-Extra- is suggested',
  }),
  'requestheader-group-headers': list({ default: [], help: 'headers with groups; X-Remote-Group is suggested' }),
  'requestheader-uid-headers': list({
    default: [],
    help: 'headers with the uid; X-Remote-Uid is suggested; needs the gate RemoteRequestHeaderUID',
  }),
  'requestheader-username-headers': list({
    default: [],
    help: 'headers with the user name; X-Remote-User is suggested',
  }),
  'service-account-extend-token-expiration': boolean({
    default: true,
    help: 'let tokens that pods get by themselves live for a year, and count those that are used beyond their time',
  }),
  'service-account-issuer': repeated({
    placeholder: 'URL',
    help: 'who issues tokens of service accounts; the first is in new ones, tokens of all are taken',
  }),
  'service-account-jwks-uri': optionalText({
    placeholder: 'URL',
    defaultText: 'this server',
    help: 'where the discovery document says that the keys are',
  }),
  'service-account-key-file': repeated({
    placeholder: 'FILE',
    defaultText: '--tls-private-key-file',
    help: 'keys or certificates (PEM, RSA or ECDSA) that verify tokens of service accounts; read again when they change',
  }),
  'service-account-lookup': boolean({
    default: true,
    help: 'refuse tokens whose account or Secret is gone',
  }),
  'service-account-max-token-expiration': duration({
    default: 0,
    defaultText: 'none',
    max: Number.MAX_SAFE_INTEGER,
    help: 'the longest life of a token that is asked for; at least 1h',
  }),
  'service-account-signing-key-file': file({
    help: 'the private key (PEM) that signs tokens of service accounts; read again when it changes',
  }),
  'token-auth-file': file({ help: 'static tokens: lines of token,user,uid,"group1,group2"' }),
} as const;
