import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigurationError } from '../../codec/configuration-document.ts';
import { orch } from '../../dialect/orch.ts';
import { anonymousProblems, authenticatorFromFlags, flagProblems, type OidcFlags } from './oidc-flags.ts';

const provider = { issuerUrl: 'https://issuer.example', clientId: 'orch' };
const made = (flags: OidcFlags) =>
  authenticatorFromFlags(flags, { dialect: orch, disallowedIssuers: ['https://ours.example'] });
const identify = (flags: OidcFlags, claims: Readonly<Record<string, unknown>>) =>
  made({ ...provider, ...flags })?.identify(claims);

describe('the flags of a provider', () => {
  it('define a provider only with issuer URL and client id', () => {
    assert.equal(made({}), undefined);
    assert.equal(made({ issuerUrl: provider.issuerUrl }), undefined);
    const { issuer, signingAlgorithms, groupsClaim } = made(provider) ?? assert.fail();
    assert.equal(issuer.url, provider.issuerUrl);
    assert.deepEqual(issuer.audiences, ['orch']);
    assert.deepEqual(signingAlgorithms, ['RS256']);
    assert.equal(groupsClaim, undefined);
  });

  const names: readonly (readonly [flags: OidcFlags, claims: Readonly<Record<string, unknown>>, username: string])[] = [
    [{}, { sub: 'jane' }, 'https://issuer.example#jane'],
    [{ usernameClaim: '', usernamePrefix: '' }, { sub: 'jane' }, 'https://issuer.example#jane'],
    [{ usernameClaim: 'name' }, { name: 'jane' }, 'https://issuer.example#jane'],
    [{ usernameClaim: 'email' }, { email: 'j@example.com' }, 'j@example.com'],
    [{ usernameClaim: 'email', usernamePrefix: 'x:' }, { email: 'j@example.com' }, 'x:j@example.com'],
    [{ usernamePrefix: 'oidc:' }, { sub: 'jane' }, 'oidc:jane'],
    [{ usernamePrefix: '-' }, { sub: 'jane' }, 'jane'],
    [{ usernameClaim: 'email', usernamePrefix: '-' }, { email: 'j@example.com' }, 'j@example.com'],
  ];
  for (const [flags, claims, username] of names) {
    it(`name ${username} with ${JSON.stringify(flags)}`, () =>
      assert.equal(identify(flags, claims)?.username, username));
  }

  it('require a verified email address', () => {
    assert.throws(
      () => identify({ usernameClaim: 'email' }, { email: 'a', email_verified: false }),
      /email not verified/,
    );
  });

  it('map groups', () => {
    assert.deepEqual(identify({ groupsClaim: 'roles' }, { sub: 'a', roles: ['x'] })?.groups, ['x']);
    assert.deepEqual(identify({ groupsClaim: 'roles', groupsPrefix: 'g:' }, { sub: 'a', roles: 'x' })?.groups, ['g:x']);
    assert.deepEqual(identify({ groupsPrefix: 'g:' }, { sub: 'a', groups: ['x'] })?.groups, []);
    assert.equal(made({ ...provider, groupsClaim: 'roles' })?.groupsClaim, 'roles');
  });

  it('require claims', () => {
    const requiredClaims = new Map([
      ['hd', 'example.com'],
      ['kind', 'a=b,c'],
    ]);
    assert.ok(identify({ requiredClaims }, { sub: 'a', hd: 'example.com', kind: 'a=b,c' }));
    assert.throws(() => identify({ requiredClaims }, { sub: 'a', hd: 'example.com' }), /claim "kind" is not present/);
    assert.throws(() => identify({ requiredClaims }, { sub: 'a', hd: 'b', kind: 'a=b,c' }), /required claim "hd"/);
  });

  it('accept only known algorithms', () => {
    assert.deepEqual(made({ ...provider, signingAlgorithms: ['ES256', 'PS512'] })?.signingAlgorithms, [
      'ES256',
      'PS512',
    ]);
  });

  const bad: readonly (readonly [flags: OidcFlags, problems: readonly string[]])[] = [
    [
      { issuerUrl: 'http://issuer.example' },
      ['--oidc-issuer-url: Invalid value: "http://issuer.example": URL scheme must be https'],
    ],
    [
      { issuerUrl: 'https://ours.example' },
      [
        '--oidc-issuer-url: Invalid value: "https://ours.example": URL must not overlap with disallowed issuers: [https://ours.example]',
      ],
    ],
    [
      { certificateAuthority: 'none' },
      ['--oidc-ca-file: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates'],
    ],
    [
      { requiredClaims: new Map([['', 'x']]) },
      ['--oidc-required-claim: Required value: claim or expression is required'],
    ],
    ...['none', 'HS256', 'rs256', 'EdDSA'].map(
      (name) =>
        [
          { signingAlgorithms: ['RS256', name] },
          [
            `--oidc-signing-algs: unsupported signing alg "${name}": supported values: ES256, ES384, ES512, PS256, PS384, PS512, RS256, RS384, RS512`,
          ],
        ] as const,
    ),
  ];
  for (const [flags, problems] of bad) {
    it(`are refused: ${problems}`, () => {
      assert.throws(
        () => made({ ...provider, ...flags }),
        (error) => {
          assert.ok(error instanceof ConfigurationError);
          assert.deepEqual(error.problems, problems);
          return true;
        },
      );
    });
  }
});

describe('flags that exclude each other', () => {
  it('are reported', () => {
    const oidcGiven = ['--oidc-issuer-url', '--oidc-client-id'];
    assert.deepEqual(flagProblems({ oidcGiven: [], oidc: {} }), []);
    assert.deepEqual(flagProblems({ oidcGiven: [], oidc: {}, configFile: 'a' }), []);
    assert.deepEqual(flagProblems({ oidcGiven, oidc: provider }), []);
    assert.deepEqual(flagProblems({ oidcGiven, oidc: provider, configFile: 'a' }), [
      '--authentication-config and the --oidc-* flags (--oidc-issuer-url, --oidc-client-id) exclude each other',
    ]);
    const together = ['--oidc-issuer-url and --oidc-client-id must be given together when any --oidc-* flag is'];
    assert.deepEqual(flagProblems({ oidcGiven: ['--oidc-client-id'], oidc: { clientId: 'a' } }), together);
    assert.deepEqual(flagProblems({ oidcGiven: ['--oidc-groups-claim'], oidc: {} }), together);
  });

  it('are reported for anonymous access', () => {
    assert.deepEqual(anonymousProblems(true, undefined), []);
    assert.deepEqual(anonymousProblems(false, {}), []);
    assert.deepEqual(anonymousProblems(true, {}), [
      '--anonymous-auth cannot be given when the file of --authentication-config has the field anonymous',
    ]);
  });
});
