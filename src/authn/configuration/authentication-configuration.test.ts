import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { loadCel } from '../../cel/cel.ts';
import { ConfigurationError } from '../../codec/configuration-document.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { makeCertificate } from '../../pki/certificate-fixture.ts';
import {
  type AuthenticationSettings,
  type ReadAuthenticationOptions,
  readAuthenticationConfiguration,
} from './authentication-configuration.ts';

const options: ReadAuthenticationOptions = {
  dialect: orch,
  disallowedIssuers: ['https://orch.default.svc', 'https://before.example'],
  loadCel,
};

const read = (text: string, more: Partial<ReadAuthenticationOptions> = {}): Promise<AuthenticationSettings> =>
  readAuthenticationConfiguration(Buffer.from(text), { ...options, ...more });

const head = { apiVersion: 'apiserver.config.orch.io/v1beta1', kind: 'AuthenticationConfiguration' };

const issuer = { url: 'https://issuer.example', audiences: ['orch'] };
const username = { claim: 'sub', prefix: '' };
const base = { issuer, claimMappings: { username } };

const authority = makeCertificate({ name: 'authority', authority: true, notBefore: 0, notAfter: 2 ** 41 }).cert;

const documentOf = (...jwt: readonly object[]): string => JSON.stringify({ ...head, jwt });

const withIssuer = (fields: object): object => ({ ...base, issuer: { ...issuer, ...fields } });
const withMappings = (fields: object): object => ({ ...base, claimMappings: { username, ...fields } });
const withRules = (...claimValidationRules: readonly object[]): object => ({ ...base, claimValidationRules });
const withUserRules = (...userValidationRules: readonly object[]): object => ({ ...base, userValidationRules });

async function problemsOf(text: string): Promise<readonly string[]> {
  try {
    await read(text);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error));
    return error.problems;
  }
}

const bad: readonly (readonly [what: string, jwt: readonly object[], problems: readonly string[]])[] = [
  ['no url', [withIssuer({ url: '' })], ['jwt[0].issuer.url: Required value: URL is required']],
  [
    'a url without TLS',
    [withIssuer({ url: 'http://issuer.example' })],
    ['jwt[0].issuer.url: Invalid value: "http://issuer.example": URL scheme must be https'],
  ],
  [
    'a url without a scheme',
    [withIssuer({ url: 'issuer.example' })],
    ['jwt[0].issuer.url: Invalid value: "issuer.example": URL scheme must be https'],
  ],
  [
    'a url with every forbidden part',
    [withIssuer({ url: 'https://user:word@issuer.example?query#fragment' })],
    ['a username or password', 'a query', 'a fragment'].map(
      (what) =>
        `jwt[0].issuer.url: Invalid value: "https://user:word@issuer.example?query#fragment": URL must not contain ${what}`,
    ),
  ],
  ...['https://', 'https:issuer.example', 'https:\\\\issuer.example', 'https://a b', 'https://issuer.example:port'].map(
    (url) =>
      [
        `the url ${url}`,
        [withIssuer({ url })],
        [`jwt[0].issuer.url: Invalid value: ${JSON.stringify(url)}: must be a URL with a host`],
      ] as const,
  ),
  [
    'the issuer of service account tokens',
    [withIssuer({ url: 'https://orch.default.svc' })],
    [
      'jwt[0].issuer.url: Invalid value: "https://orch.default.svc": URL must not overlap with disallowed issuers: [https://before.example https://orch.default.svc]',
    ],
  ],
  ['a duplicate url', [base, base], ['jwt[1].issuer.url: Duplicate value: "https://issuer.example"']],
  [
    'a discoveryURL that is the url',
    [withIssuer({ discoveryURL: 'https://issuer.example//' })],
    ['jwt[0].issuer.discoveryURL: Invalid value: "https://issuer.example//": discoveryURL must be different from URL'],
  ],
  [
    'a discoveryURL without TLS',
    [withIssuer({ discoveryURL: 'http://inside.example/discovery' })],
    ['jwt[0].issuer.discoveryURL: Invalid value: "http://inside.example/discovery": URL scheme must be https'],
  ],
  [
    'a duplicate discoveryURL',
    [
      withIssuer({ discoveryURL: 'https://inside.example/discovery' }),
      withIssuer({ url: 'https://other.example', discoveryURL: 'https://inside.example/discovery' }),
    ],
    ['jwt[1].issuer.discoveryURL: Duplicate value: "https://inside.example/discovery"'],
  ],
  [
    'authorities that are not certificates',
    [withIssuer({ certificateAuthority: 'none' })],
    [
      'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates',
    ],
  ],
  [
    'damaged authorities',
    [withIssuer({ certificateAuthority: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' })],
    [
      'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates',
    ],
  ],
  [
    'no audience',
    [withIssuer({ audiences: [] })],
    ['jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required'],
  ],
  [
    'an empty audience, and one twice',
    [withIssuer({ audiences: ['a', '', 'a'], audienceMatchPolicy: 'MatchAny' })],
    [
      "jwt[0].issuer.audiences[1]: Required value: audience can't be empty",
      'jwt[0].issuer.audiences[2]: Duplicate value: "a"',
    ],
  ],
  [
    'several audiences without a policy',
    [withIssuer({ audiences: ['a', 'b'] })],
    [
      'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
    ],
  ],
  [
    'another policy',
    [withIssuer({ audienceMatchPolicy: 'MatchAll' })],
    [
      'jwt[0].issuer.audienceMatchPolicy: Invalid value: "MatchAll": audienceMatchPolicy must be empty or MatchAny for single audience',
    ],
  ],
  [
    'a rule with claim and expression',
    [withRules({ claim: 'hd', expression: 'true' })],
    ['jwt[0].claimValidationRules[0]: Invalid value: "hd": claim and expression can\'t both be set'],
  ],
  [
    'a rule with neither',
    [withRules({ message: 'no' })],
    ['jwt[0].claimValidationRules[0]: Required value: claim or expression is required'],
  ],
  [
    'a message beside a claim',
    [withRules({ claim: 'hd', requiredValue: 'a', message: 'no' })],
    ['jwt[0].claimValidationRules[0].message: Invalid value: "no": message can\'t be set when claim is set'],
  ],
  [
    'a value beside an expression',
    [withRules({ expression: 'true', requiredValue: 'a' })],
    [
      'jwt[0].claimValidationRules[0].requiredValue: Invalid value: "a": requiredValue can\'t be set when expression is set',
    ],
  ],
  [
    'duplicate rules',
    [withRules({ claim: 'hd' }, { expression: 'true' }, { claim: 'hd' }, { expression: 'true' })],
    [
      'jwt[0].claimValidationRules[2].claim: Duplicate value: "hd"',
      'jwt[0].claimValidationRules[3].expression: Duplicate value: "true"',
    ],
  ],
  [
    'a rule that is not a bool',
    [withRules({ expression: 'claims.admin' })],
    [
      'jwt[0].claimValidationRules[0].expression: Invalid value: "claims.admin": compilation failed: must evaluate to bool but got dyn',
    ],
  ],
  [
    'a rule about the user instead of the claims',
    [withRules({ expression: 'user.username != ""' })],
    [
      'jwt[0].claimValidationRules[0].expression: Invalid value: "user.username != \\"\\"": compilation failed: 1:1: undeclared reference to \'user\'',
    ],
  ],
  ['no username', [{ issuer }], ['jwt[0].claimMappings.username: Required value: claim or expression is required']],
  [
    'username by claim and expression',
    [withMappings({ username: { ...username, expression: 'claims.sub' } })],
    ['jwt[0].claimMappings.username: Invalid value: "": claim and expression can\'t both be set'],
  ],
  [
    'username without a prefix',
    [withMappings({ username: { claim: 'sub' } })],
    [
      'jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing',
    ],
  ],
  [
    'a prefix beside an expression',
    [withMappings({ username: { expression: 'claims.sub', prefix: '' } })],
    ['jwt[0].claimMappings.username.prefix: Invalid value: "": prefix can\'t be set when expression is set'],
  ],
  [
    'groups by claim and expression, and without a prefix',
    [
      withMappings({ groups: { claim: 'groups', expression: 'claims.groups' } }),
      { ...withIssuer({ url: 'https://b.example' }), claimMappings: { username, groups: { claim: 'groups' } } },
    ],
    [
      'jwt[0].claimMappings.groups: Invalid value: "": claim and expression can\'t both be set',
      'jwt[1].claimMappings.groups.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing',
    ],
  ],
  [
    'uid by claim and expression',
    [withMappings({ uid: { claim: 'sub', expression: 'claims.sub' } })],
    ['jwt[0].claimMappings.uid: Invalid value: "": claim and expression can\'t both be set'],
  ],
  [
    'an expression that does not compile',
    [withMappings({ uid: { expression: 'claims.' } })],
    [
      'jwt[0].claimMappings.uid.expression: Invalid value: "claims.": compilation failed: 1:8: unexpected the end, expected a name',
    ],
  ],
  ...(
    [
      ['', ['Required value']],
      ['foo', ['Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")']],
      ['/foo', ['Invalid value: "/foo": must be a domain-prefixed path (such as "acme.io/foo")']],
      ['a.example/', ['Invalid value: "a.example/": must be a domain-prefixed path (such as "acme.io/foo")']],
      ['a.example/Foo', ['Invalid value: "a.example/Foo": key must be lowercase']],
      [
        'orch.io/foo',
        ['Invalid value: "orch.io/foo": k8s.io, kubernetes.io, orch.io and their subdomains are reserved'],
      ],
      [
        'x.kubernetes.io/foo',
        ['Invalid value: "x.kubernetes.io/foo": k8s.io, kubernetes.io, orch.io and their subdomains are reserved'],
      ],
      ['k8s.io/foo', ['Invalid value: "k8s.io/foo": k8s.io, kubernetes.io, orch.io and their subdomains are reserved']],
      [
        'a.example/a b',
        ["Invalid value: \"a b\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"],
      ],
    ] as const
  ).map(
    ([key, problems]) =>
      [
        `the extra key ${JSON.stringify(key)}`,
        [withMappings({ extra: [{ key, valueExpression: '"a"' }] })],
        problems.map((problem) => `jwt[0].claimMappings.extra[0].key: ${problem}`),
      ] as const,
  ),
  [
    'an extra key twice, and one without a value',
    [
      withMappings({
        extra: [
          { key: 'a.example/a', valueExpression: '"a"' },
          { key: 'a.example/a', valueExpression: '"b"' },
          { key: 'a.example/b' },
        ],
      }),
    ],
    [
      'jwt[0].claimMappings.extra[1].key: Duplicate value: "a.example/a"',
      'jwt[0].claimMappings.extra[2].valueExpression: Required value: valueExpression is required',
    ],
  ],
  [
    'a user rule without an expression, one twice, and one that is no bool',
    [
      withUserRules(
        { message: 'no' },
        { expression: 'true' },
        { expression: 'true' },
        { expression: 'user.username' },
        { expression: 'user.name == ""' },
      ),
    ],
    [
      'jwt[0].userValidationRules[0].expression: Required value: expression is required',
      'jwt[0].userValidationRules[2].expression: Duplicate value: "true"',
      'jwt[0].userValidationRules[3].expression: Invalid value: "user.username": compilation failed: must evaluate to bool but got string',
      'jwt[0].userValidationRules[4].expression: Invalid value: "user.name == \\"\\"": compilation failed: 1:5: undefined field \'name\'',
    ],
  ],
  ...['claims.email', 'claims.?email.orValue("")', '"a:" + claims.email'].map(
    (expression) =>
      [
        `${expression} as username`,
        [withMappings({ username: { expression } })],
        [
          `jwt[0].claimMappings.username.expression: Invalid value: ${JSON.stringify(expression)}: claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression`,
        ],
      ] as const,
  ),
  [
    'all errors at once',
    [{ issuer: { url: 'http://a.example' }, claimMappings: { username: { claim: 'sub' } } }, {}],
    [
      'jwt[0].issuer.url: Invalid value: "http://a.example": URL scheme must be https',
      'jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required',
      'jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing',
      'jwt[1].issuer.url: Required value: URL is required',
      'jwt[1].issuer.audiences: Required value: at least one jwt[1].issuer.audiences is required',
      'jwt[1].claimMappings.username: Required value: claim or expression is required',
    ],
  ],
  [
    'too many providers',
    Array.from({ length: limits.jwtAuthenticatorsMax + 1 }, () => ({})),
    ['jwt: Too many: 65: must have at most 64 items'],
  ],
];

const good: readonly (readonly [what: string, jwt: readonly object[]])[] = [
  ['nothing', []],
  ['the least', [base]],
  ['a url with a path and a port', [withIssuer({ url: 'https://issuer.example:8443/realms/a/' })]],
  ['an empty query', [withIssuer({ url: 'https://issuer.example?' })]],
  ['a discoveryURL', [withIssuer({ discoveryURL: 'https://inside.example/discovery' })]],
  ['authorities', [withIssuer({ certificateAuthority: `# Ours\n${authority}` })]],
  ['several audiences', [withIssuer({ audiences: ['a', 'b'], audienceMatchPolicy: 'MatchAny' })]],
  ['one audience with a policy', [withIssuer({ audienceMatchPolicy: 'MatchAny' })]],
  ['rules', [withRules({ claim: 'hd', requiredValue: 'a' }, { claim: 'x' }, { expression: 'true', message: 'no' })]],
  ['an email claim', [withMappings({ username: { claim: 'email', prefix: '' } })]],
  [
    'email_verified in the same expression',
    [withMappings({ username: { expression: 'claims.email_verified ? claims.email : ""' } })],
  ],
  [
    'email_verified in a rule',
    [
      {
        ...withMappings({ username: { expression: 'claims.email' } }),
        claimValidationRules: [{ expression: 'claims.?email_verified.orValue(true) == true' }],
      },
    ],
  ],
  [
    'email_verified in an extra attribute',
    [
      withMappings({
        username: { expression: 'claims.email' },
        extra: [{ key: 'a.example/verified', valueExpression: 'string(claims.email_verified)' }],
      }),
    ],
  ],
  ['an email that is not the username', [withMappings({ groups: { expression: 'claims.email' } })]],
  ['everything', [{ ...withMappings({ groups: { claim: 'groups', prefix: '' }, uid: { claim: 'sub' } }) }]],
  [
    'the maximum number of providers',
    Array.from({ length: limits.jwtAuthenticatorsMax }, (_, index) => withIssuer({ url: `https://${index}.example` })),
  ],
];

describe('an AuthenticationConfiguration', () => {
  for (const [what, jwt, problems] of bad) {
    it(`is refused with ${what}`, async () => assert.deepEqual(await problemsOf(documentOf(...jwt)), problems));
  }

  for (const [what, jwt] of good) {
    it(`is taken with ${what}`, async () => {
      const { authenticators } = await read(documentOf(...jwt));
      assert.equal(authenticators.length, jwt.length);
    });
  }

  const forms: readonly (readonly [what: string, text: string, problem: RegExp])[] = [
    ['an unknown field', documentOf({ ...base, extra: 1 }), /^unknown field "jwt\[0\]\.extra"$/],
    ['a field in another case', documentOf(withIssuer({ URL: 'a' })), /^unknown field "jwt\[0\]\.issuer\.URL"$/],
    [
      'a duplicate field',
      `${Object.entries(head)
        .map(([key, value]) => `${key}: ${value}\n`)
        .join('')}jwt:\n- issuer:\n    url: a\n    url: b\n`,
      /^duplicate field "jwt\[0\]\.issuer\.url"$/,
    ],
    ['a value of another type', documentOf(withIssuer({ audiences: 'a' })), /^jwt\[0\]\.issuer\.audiences: expected/],
    ['another kind', JSON.stringify({ ...head, kind: 'AuthorizationConfiguration' }), /^kind: Unsupported value/],
    [
      'the version of the other dialect',
      JSON.stringify({ ...head, apiVersion: 'apiserver.config.k8s.io/v1beta1' }),
      /^apiVersion: Unsupported value/,
    ],
    [
      'a version that does not exist',
      JSON.stringify({ ...head, apiVersion: 'apiserver.config.orch.io/v1' }),
      /^apiVersion/,
    ],
    ['a list', '[]', /^expected an object of kind AuthenticationConfiguration$/],
  ];
  for (const [what, text, problem] of forms) {
    it(`is refused with ${what}`, async () => {
      const problems = await problemsOf(text);
      assert.equal(problems.length, 1, problems.join());
      assert.match(problems[0] ?? '', problem);
    });
  }

  it('is read as YAML, in its older version, and in the other dialect', async () => {
    const yaml = `
apiVersion: apiserver.config.k8s.io/v1alpha1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: https://issuer.example
    audiences: [one, two]
    audienceMatchPolicy: MatchAny
  claimMappings:
    username:
      claim: sub
      prefix: "oidc:"
`;
    const { authenticators } = await read(yaml, { dialect: kubernetes });
    const [authenticator] = authenticators;
    assert.deepEqual(authenticator?.issuer.audiences, ['one', 'two']);
    assert.equal(authenticator?.signingAlgorithms.length, 9);
    assert.equal(authenticator?.identify({ sub: 'jane' }).username, 'oidc:jane');
  });

  it('names the groups claim, which may be distributed', async () => {
    const claim = await read(documentOf(withMappings({ groups: { claim: 'roles', prefix: '' } })));
    assert.equal(claim.authenticators[0]?.groupsClaim, 'roles');
    const expression = await read(documentOf(withMappings({ groups: { expression: 'claims.roles' } })));
    assert.equal(expression.authenticators[0]?.groupsClaim, undefined);
  });

  it('does not load CEL without expressions', async () => {
    const loadNothing = () => assert.fail('loaded');
    await read(documentOf(base, withIssuer({ url: 'https://b.example' })), { loadCel: loadNothing });
    await assert.rejects(read(documentOf(withRules({ expression: 'true' })), { loadCel: loadNothing }), /loaded/);
  });
});

describe('anonymous of an AuthenticationConfiguration', () => {
  const read2 = async (anonymous: unknown) => (await read(JSON.stringify({ ...head, anonymous }))).anonymous;

  it('is absent if the document does not set it', async () => {
    assert.equal((await read(JSON.stringify(head))).anonymous, undefined);
    assert.equal(await read2(null), undefined);
  });

  it('is off unless enabled, and may have conditions', async () => {
    assert.deepEqual(await read2({}), { enabled: false, conditions: [] });
    assert.deepEqual(await read2({ enabled: true }), { enabled: true, conditions: [] });
    assert.deepEqual(await read2({ enabled: true, conditions: [{ path: '/livez' }] }), {
      enabled: true,
      conditions: [{ path: '/livez' }],
    });
  });

  it('must not have conditions if disabled', async () => {
    assert.deepEqual(await problemsOf(JSON.stringify({ ...head, anonymous: { conditions: [{ path: '/livez' }] } })), [
      'anonymous.conditions: Invalid value: [{"path":"/livez"}]: enabled should be set to true when conditions are defined',
    ]);
  });
});
