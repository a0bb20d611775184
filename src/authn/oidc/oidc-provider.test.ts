import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { until } from '../../base/waits-fixture.ts';
import { authenticators } from './authenticators-fixture.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';
import { ecKey, encode, jwkOf, loopbackCertificate, rsaKey, signToken, TestProvider } from './provider-fixture.ts';

const rsa = rsaKey('rsa');

describe('tokens of a provider', () => {
  let provider: TestProvider;
  let system: ReturnType<typeof authenticators>;
  before(async () => {
    provider = await TestProvider.start([ecKey('one'), rsa]);
    system = authenticators(provider.settings({}, { audiences: ['orch', 'other'] }));
    await system.ready();
  });
  after(async () => {
    system[Symbol.dispose]();
    await provider[Symbol.asyncDispose]();
  });
  const seconds = (ahead: number) => Math.floor(system.clock.now() / 1000) + ahead;

  it('identify their user synchronously', () => {
    const identity = system.all.authenticateToken(provider.token({ groups: ['dev'] }));
    assert.ok(identity && !(identity instanceof Promise));
    assert.deepEqual(identity.user, { username: 'jane', uid: '', groups: ['dev'], extra: {} });
    assert.ok(!('audiences' in identity));
  });

  for (const [name, claims, header] of [
    ['for several', { aud: ['x', 'other'] }],
    ['for another accepted audience', { aud: 'other' }],
    ['valid from now on', { nbf: () => seconds(59) }],
    ['issued in the future', { iat: () => seconds(7200) }],
    ['that expire this second', { exp: () => seconds(1) }],
    ['with fractions of seconds', { exp: () => seconds(30) + 0.5 }],
    ['with large numbers', { exp: 1e30 }],
    ['for another party', { azp: 'nobody' }],
    ['without a key id', {}, { kid: undefined }],
    ['of another type', {}, { typ: 'at+jwt' }],
    ['with keys of their own, which are not looked at', {}, { jwk: jwkOf(ecKey('one')), jku: 'https://127.0.0.1:1/' }],
  ] as const) {
    it(`hold ${name}`, async () => {
      assert.equal(await system.who(provider.token(valuesOf(claims), header)), 'jane');
    });
  }

  for (const [name, code, claims, header] of [
    ['without an expiry', 'times', { exp: undefined }],
    ['whose expiry is a string', 'times', { exp: '9999999999' }],
    ['whose expiry is null', 'times', { exp: null }],
    ['whose nbf is a string', 'times', { nbf: '1' }],
    ['that expired a second ago', 'expired', { exp: () => seconds(-1) }],
    ['with a negative expiry', 'expired', { exp: -1e30 }],
    ['that are not yet valid', 'notYetValid', { nbf: () => seconds(62) }],
    ['for others', 'audience', { aud: 'someone' }],
    ['for nobody', 'audience', { aud: [] }],
    ['without an audience', 'audience', { aud: undefined }],
    ['whose audience is a number', 'audience', { aud: 7 }],
    ['whose audience is an object', 'audience', { aud: { orch: true } }],
    ['one of whose audiences is not a string', 'audience', { aud: ['orch', 7] }],
    ['whose audience has ours as a prefix', 'audience', { aud: 'orchid' }],
    ['with critical fields', 'header', {}, { crit: ['exp'] }],
    ['with unencoded claims', 'header', {}, { b64: false }],
    ['whose key id is a number', 'header', {}, { kid: 1 }],
    ['signed with an algorithm that is not accepted', 'algorithm', {}, { alg: 'PS256' }],
  ] as const) {
    it(`do not hold ${name}`, async () => {
      const key = header && 'alg' in header ? rsa : undefined;
      const all = provider.claims(valuesOf(claims));
      const fetched = provider.requests.length;
      await system.refused(key ? signToken(key, all, header) : provider.token(all, header), code);
      assert.equal(provider.requests.length, fetched, 'hopeless tokens cause no fetch');
    });
  }

  const forged: Readonly<Record<string, () => string>> = {
    'signed with another key of that name': () => signToken(ecKey('one'), provider.claims()),
    'signed with an unknown key': () => signToken(ecKey('nobody'), provider.claims()),
    'that name another key of the provider': () => provider.token({}, { kid: 'rsa' }),
    'with other claims': () => swapped(provider.token(), 1, encode(provider.claims({ sub: 'root' }))),
    'with another header': () => swapped(provider.token(), 0, encode({ alg: 'ES256', kid: 'one', typ: 'JWT' })),
    'with the signature of another': () => swapped(provider.token(), 2, provider.token({ sub: 'x' }).split('.')[2]),
    'with an empty signature': () => swapped(provider.token(), 2, ''),
    'with a signature of zeros': () => swapped(provider.token(), 2, Buffer.alloc(64).toString('base64url')),
    'with a cut signature': () => swapped(provider.token(), 2, Buffer.alloc(32, 1).toString('base64url')),
    'with a key of the wrong type': () => swapped(provider.token(), 0, encode({ alg: 'RS256', kid: 'one' })),
  };
  for (const [name, token] of Object.entries(forged)) {
    it(`do not hold ${name}`, () => system.refused(token(), 'signature'));
  }

  const symmetric = (key: string): string => {
    const input = `${encode({ alg: 'HS256', kid: 'rsa' })}.${encode(provider.claims())}`;
    return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
  };
  it('do not hold unsigned, nor signed with the public key as a secret', async () => {
    const publicKey = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    for (const alg of ['none', 'None', 'HS256', '', null, ['ES256']]) {
      await system.refused(`${encode({ alg })}.${encode(provider.claims())}.`, 'header');
    }
    for (const key of ['', publicKey, JSON.stringify(jwkOf(rsa))]) await system.refused(symmetric(key), 'header');
  });

  const foreign: Readonly<Record<string, () => string>> = {
    'of other issuers': () => provider.token({ iss: 'https://127.0.0.1' }),
    'whose issuer ends with a slash': () => provider.token({ iss: `${provider.url}/` }),
    'whose issuer is in capitals': () => provider.token({ iss: provider.url.toUpperCase() }),
    'without an issuer': () => provider.token({ iss: undefined }),
    'whose issuer is a list': () => provider.token({ iss: [provider.url] }),
    'whose issuer is named like an inherited property': () => provider.token({ iss: '__proto__' }),
    'that are not JWTs': () => 'hello',
    'that are empty': () => '',
    'of four parts': () => `${provider.token()}.x`,
    'with padding': () => `${provider.token()}=`,
    'that are cut': () => provider.token().slice(0, 40),
    'whose claims are not an object': () => swapped(provider.token(), 1, encode([provider.url])),
    'with a duplicate claim': () =>
      swapped(provider.token(), 1, Buffer.from(`{"iss":"x","iss":"${provider.url}"}`).toString('base64url')),
    'that are too long': () => provider.token({ sub: 'x'.repeat(limits.tokenLengthMax) }),
    'of a megabyte': () => 'a.'.repeat(512 * 1024),
  };
  for (const [name, token] of Object.entries(foreign)) {
    it(`are not known ${name}`, () => {
      const fetched = provider.requests.length;
      assert.equal(system.all.authenticateToken(token()), undefined);
      assert.equal(provider.requests.length, fetched);
    });
  }

  it('are timed by result, unless they were cached', () => {
    const text = system.metrics.render();
    const counted = (result: string) =>
      new RegExp(
        `^apiserver_authentication_jwt_authenticator_latency_seconds_count\\{result="${result}",jwt_issuer_hash="sha256:[0-9a-f]{64}"\\} (\\d+)$`,
        'm',
      ).exec(text)?.[1];
    assert.ok(Number(counted('success')) > 5);
    assert.ok(Number(counted('failure')) > 20);
    const known = provider.token({ sub: 'counted' });
    system.all.authenticateToken(known);
    const once = system.metrics.render();
    system.all.authenticateToken(known);
    assert.equal(system.metrics.render(), once);
  });
});

const swapped = (token: string, part: 0 | 1 | 2, text = ''): string => token.split('.').with(part, text).join('.');

const valuesOf = (claims: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(claims).map(([name, value]) => [name, typeof value === 'function' ? value() : value]),
  );

describe('the users of a provider', () => {
  it('are cached for a while, and no longer than the token is valid', async () => {
    await using provider = await TestProvider.start();
    let asked = 0;
    const settings = provider.settings();
    const identify: JwtAuthenticator['identify'] = (claims) => {
      asked += 1;
      return settings.identify(claims);
    };
    using system = authenticators({ ...settings, identify });
    await system.ready();
    const token = provider.token({ exp: Math.floor(system.clock.now() / 1000) + 15 });
    for (let index = 0; index < 3; index++) await system.who(token);
    assert.equal(asked, 1);
    system.clock.advance(limits.oidcTokenKeptMs);
    await system.who(token);
    assert.equal(asked, 2);
    system.clock.advance(6_000);
    await system.refused(token, 'expired');
    assert.equal(asked, 2);
  });

  it('are rejected by the rules of the configuration each time', async () => {
    await using provider = await TestProvider.start();
    const identify = (): never => {
      throw new Error('not him');
    };
    using system = authenticators(provider.settings({ identify }));
    await system.ready();
    for (let index = 0; index < 2; index++) {
      await assert.rejects(async () => system.all.authenticateToken(provider.token()), /not him/);
    }
  });

  it('are found by issuer among several providers', async () => {
    await using one = await TestProvider.start();
    await using two = await TestProvider.start();
    const named = (name: string) => ({ identify: () => ({ username: name, uid: '', groups: [], extra: {} }) });
    using system = authenticators(one.settings(named('one')), two.settings(named('two')));
    await system.ready();
    assert.equal(await system.who(one.token()), 'one');
    assert.equal(await system.who(two.token()), 'two');
    await system.refused(two.token({ iss: one.url }), 'signature');
  });
});

describe('the keys of tokens', () => {
  const rotated = (system: ReturnType<typeof authenticators>) => system.clock.advance(limits.oidcKeysFetchMsMin);

  it('are fetched when a token names a new one: once for all waiting tokens', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators(provider.settings());
    await system.ready();
    const old = provider.token();
    assert.equal(await system.who(old), 'jane');
    provider.keys = [ecKey('two')];
    rotated(system);
    assert.equal(await system.who(old), 'jane');
    const names = await Promise.all(['a', 'b', 'c'].map((sub) => system.who(provider.token({ sub }))));
    assert.deepEqual(names, ['a', 'b', 'c']);
    assert.equal(provider.keyRequests, 2);
    await system.refused(old, 'signature');
  });

  it('are fetched when a token is signed with a new one under an old id', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators(provider.settings());
    await system.ready();
    provider.keys = [ecKey('one')];
    rotated(system);
    assert.equal(await system.who(provider.token()), 'jane');
  });

  it('are fetched no more often than the floor, whatever tokens say, also where it fails', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators(provider.settings());
    await system.ready();
    const unknown = () => signToken(ecKey(String(Math.random())), provider.claims());
    for (let index = 0; index < 5; index++) await system.refused(unknown(), 'signature');
    assert.equal(provider.keyRequests, 1);
    rotated(system);
    for (let index = 0; index < 5; index++) await system.refused(unknown(), 'signature');
    assert.equal(provider.keyRequests, 2);
    provider.answerInstead('/keys', 500, {});
    rotated(system);
    for (let index = 0; index < 5; index++) await system.refused(unknown(), 'signature');
    assert.equal(provider.keyRequests, 3);
  });

  it('are waited for by a bounded number of tokens; tokens of known keys do not wait', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators(provider.settings());
    await system.ready();
    rotated(system);
    const answers: (() => void)[] = [];
    provider.instead.set('/keys', (_request, response) => {
      answers.push(() => response.end('{"keys":[]}'));
    });
    const unknown = (sub: string) => swapped(provider.token(), 1, encode(provider.claims({ sub })));
    const waiting = Array.from({ length: limits.oidcWaitingMax }, (_, index) =>
      system.refused(unknown(String(index)), 'signature'),
    );
    await system.refused(unknown('one more'), 'busy');
    assert.equal(await system.who(provider.token({ sub: 'known' })), 'known');
    await until(() => answers.length === 1);
    answers[0]?.();
    await Promise.all(waiting);
    assert.equal(provider.keyRequests, 2);
  });

  it('that the provider removes are invalid after the next fetch, for cached tokens too', async () => {
    await using provider = await TestProvider.start([ecKey('one'), ecKey('two')]);
    using system = authenticators(provider.settings());
    await system.ready();
    const token = provider.token({ exp: Math.floor(system.clock.now() / 1000) + 36_000 });
    provider.keys = provider.keys.slice(1);
    system.clock.advance(limits.oidcKeysFreshMs - 1_000);
    assert.equal(await system.who(token), 'jane');
    system.clock.advance(1_000);
    // A token with an unknown key id waits for the pending fetch.
    await system.refused(signToken(ecKey('unknown'), provider.claims()), 'signature');
    assert.equal(provider.keyRequests, 2);
    await system.refused(token, 'signature');
  });

  it('stay in use while the provider is down, and are updated when it is back', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators(provider.settings());
    await system.ready();
    await provider.down();
    system.clock.advance(limits.oidcKeysFreshMs);
    await until(() => system.all.problems().length === 1);
    assert.equal(await system.who(provider.token()), 'jane');
    provider.keys = [ecKey('new')];
    await provider.up();
    system.clock.advance(limits.oidcRetryMs);
    await system.ready();
    assert.equal(await system.who(provider.token()), 'jane');
  });

  it('may move to another URL', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators(provider.settings());
    await system.ready();
    provider.keys = [ecKey('new')];
    provider.answerInstead('/.well-known/openid-configuration', 200, {
      issuer: provider.url,
      jwks_uri: `${provider.url}/moved?x=1`,
    });
    provider.answerInstead('/moved?x=1', 200, { keys: provider.keys.map(jwkOf) });
    rotated(system);
    assert.equal(await system.who(provider.token()), 'jane');
  });
});

describe('a provider that has not been reached', () => {
  it('is retried, and meanwhile only its own tokens are rejected', async () => {
    await using down = await TestProvider.start();
    await using good = await TestProvider.start();
    await down.down();
    using system = authenticators(down.settings(), good.settings());
    await until(() => system.all.problems().length === 1 && system.warnings.length === 1);
    assert.match(system.all.problems()[0] ?? '', /^issuer https:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
    await system.refused(down.token(), 'notReady');
    assert.equal(await system.who(good.token()), 'jane');
    await down.up();
    system.clock.advance(limits.oidcRetryMs);
    await system.ready();
    assert.equal(await system.who(down.token()), 'jane');
    assert.equal(system.warnings.length, 1);
  });

  it('is not fetched because of its tokens', async () => {
    await using provider = await TestProvider.start();
    provider.answerInstead('/keys', 404, {});
    using system = authenticators(provider.settings());
    await until(() => system.warnings.length === 1);
    system.clock.advance(limits.oidcRetryMs - 1);
    for (let index = 0; index < 3; index++) await system.refused(provider.token(), 'notReady');
    assert.equal(provider.keyRequests, 1);
  });

  const description = '/.well-known/openid-configuration';
  const lies: Readonly<Record<string, { readonly lie: (provider: TestProvider) => void; readonly says: RegExp }>> = {
    'describes another issuer': {
      lie: (provider) =>
        provider.answerInstead(description, 200, { issuer: `${provider.url}/`, jwks_uri: `${provider.url}/keys` }),
      says: /the description is of issuer "https:[^"]*\/" where/,
    },
    'describes an issuer of a megabyte': {
      lie: (provider) => provider.answerInstead(description, 200, { issuer: 'x'.repeat(200_000) }),
      says: /^.{0,400}$/,
    },
    'has no issuer': {
      lie: (provider) => provider.answerInstead(description, 200, { jwks_uri: `${provider.url}/keys` }),
      says: /of type undefined/,
    },
    'has a duplicate issuer': {
      lie: (provider) =>
        provider.answerInstead(description, 200, `{"issuer":"x","issuer":"${provider.url}","jwks_uri":"https://x/"}`),
      says: /not an object/,
    },
    'has no keys': {
      lie: (provider) => provider.answerInstead(description, 200, { issuer: provider.url }),
      says: /jwks_uri is not an https address/,
    },
    'has its keys without TLS': {
      lie: (provider) =>
        provider.answerInstead(description, 200, { issuer: provider.url, jwks_uri: 'http://127.0.0.1:1/keys' }),
      says: /jwks_uri is not an https address: "http:/,
    },
    'has its keys in a file': {
      lie: (provider) =>
        provider.answerInstead(description, 200, { issuer: provider.url, jwks_uri: 'file:///etc/passwd' }),
      says: /jwks_uri is not an https address/,
    },
    'answers with a list': { lie: (provider) => provider.answerInstead(description, 200, []), says: /not an object/ },
    'answers with a page': { lie: (provider) => provider.answerInstead(description, 200, '<html>'), says: /JSON/ },
    'answers with nothing': { lie: (provider) => provider.answerInstead(description, 200, ''), says: /JSON/ },
    'answers with an error': { lie: (provider) => provider.answerInstead(description, 503, {}), says: /status 503/ },
    'answers with another success': {
      lie: (provider) => provider.answerInstead(description, 206, { issuer: provider.url }),
      says: /status 206/,
    },
    'sends elsewhere': {
      lie: (provider) => provider.answerInstead(description, 302, '', { location: `${provider.url}/elsewhere` }),
      says: /status 302/,
    },
    'redirects for its keys': {
      lie: (provider) => provider.answerInstead('/keys', 307, '', { location: `${provider.url}/elsewhere` }),
      says: /\/keys: status 307/,
    },
    'has invalid keys': {
      lie: (provider) => provider.answerInstead('/keys', 200, { keys: 'none' }),
      says: /not a JSON Web Key Set/,
    },
    'has too large metadata': {
      lie: (provider) =>
        provider.answerInstead(description, 200, ' '.repeat(limits.oidcDiscoveryBytesMax) + JSON.stringify({})),
      says: /more than 262144 bytes/,
    },
    'has too large a key set': {
      lie: (provider) => provider.answerInstead('/keys', 200, ' '.repeat(limits.oidcKeySetBytesMax + 1)),
      says: /more than 1048576 bytes/,
    },
    'never stops': {
      lie: (provider) => {
        provider.instead.set('/keys', (_request, response) => {
          const more = (): void => {
            while (!response.closed && response.write('          '.repeat(1000)));
          };
          response.on('drain', more);
          more();
        });
      },
      says: /more than 1048576 bytes/,
    },
    'ends its response early': {
      lie: (provider) => {
        provider.instead.set('/keys', (_request, response) => {
          response.writeHead(200, { 'content-length': '100' });
          response.write('{"keys":[]}', () => response.destroy());
        });
      },
      says: /aborted/,
    },
    'hangs up': {
      lie: (provider) => {
        provider.instead.set(description, (request) => request.destroy());
      },
      says: /hang up|ECONNRESET/,
    },
  };
  for (const [name, { lie, says }] of Object.entries(lies)) {
    it(`is not believed where it ${name}`, async () => {
      await using provider = await TestProvider.start();
      lie(provider);
      using system = authenticators(provider.settings());
      await until(() => system.warnings.length === 1);
      const [problem = ''] = system.all.problems();
      assert.match(problem, says);
      await system.refused(provider.token(), 'notReady');
      assert.ok(!provider.requests.includes('/elsewhere'));
      provider.instead.clear();
      system.clock.advance(limits.oidcRetryMs);
      await system.ready();
      assert.equal(await system.who(provider.token()), 'jane');
    });
  }

  for (const path of [description, '/keys']) {
    it(`is given up after a while where it is silent at ${path}`, async () => {
      await using provider = await TestProvider.start();
      let closed = false;
      provider.instead.set(path, (_request, response) => {
        // A partial response does not stop the timeout.
        response.write('{');
        response.on('close', () => {
          closed = true;
        });
      });
      using system = authenticators(provider.settings());
      await until(() => provider.requests.includes(path));
      await system.refused(provider.token(), 'notReady');
      system.clock.advance(limits.oidcFetchMsMax);
      await until(() => system.warnings.length === 1 && closed);
      assert.match(system.all.problems()[0] ?? '', /no answer in 10000 ms/);
    });
  }

  it('must show a certificate of the configured authority', async () => {
    await using provider = await TestProvider.start();
    const { cert } = loopbackCertificate();
    for (const certificateAuthority of [cert, undefined]) {
      using system = authenticators(provider.settings({}, { certificateAuthority }));
      await until(() => system.warnings.length === 1);
      assert.match(system.all.problems()[0] ?? '', /self-signed certificate|certificate/);
    }
    assert.deepEqual(provider.requests, []);
  });

  it('must have the host name of its certificate', async () => {
    await using provider = await TestProvider.start();
    const url = provider.url.replace('127.0.0.1', 'localhost');
    using system = authenticators(provider.settings({}, { url }));
    await until(() => system.warnings.length === 1);
    assert.deepEqual(provider.requests, []);
  });

  it('is told nothing but what is asked for', async () => {
    await using provider = await TestProvider.start();
    const url = provider.url.replace('//', '//user:secret@');
    provider.answerInstead(description, 200, { issuer: url, jwks_uri: `${url}/keys` });
    using system = authenticators(provider.settings({}, { url }));
    await system.ready();
    assert.deepEqual(Object.keys(provider.headers).sort(), ['accept', 'connection', 'host']);
  });

  it('may have its metadata at another URL', async () => {
    await using provider = await TestProvider.start();
    const issuer = 'https://issuer.example.com/tenant';
    provider.answerInstead('/elsewhere?v=1', 200, { issuer, jwks_uri: `${provider.url}/keys` });
    using system = authenticators(
      provider.settings({}, { url: issuer, discoveryURL: `${provider.url}/elsewhere?v=1` }),
    );
    await system.ready();
    assert.equal(await system.who(provider.token({ iss: issuer })), 'jane');
    assert.equal(await system.who(provider.token()), undefined);
  });

  it('may have a path with a trailing slash', async () => {
    await using provider = await TestProvider.start();
    const issuer = `${provider.url}/tenant/`;
    provider.answerInstead(`/tenant${description}`, 200, { issuer, jwks_uri: `${provider.url}/keys` });
    using system = authenticators(provider.settings({}, { url: issuer }));
    await system.ready();
    assert.equal(await system.who(provider.token({ iss: issuer })), 'jane');
  });

  it('may omit the scheme in `iss` if it is Google', async () => {
    await using provider = await TestProvider.start();
    const issuer = 'https://accounts.google.com';
    provider.answerInstead('/google', 200, { issuer, jwks_uri: `${provider.url}/keys` });
    using system = authenticators(provider.settings({}, { url: issuer, discoveryURL: `${provider.url}/google` }));
    await system.ready();
    assert.equal(await system.who(provider.token({ iss: issuer })), 'jane');
    assert.equal(await system.who(provider.token({ iss: 'accounts.google.com' })), 'jane');
  });

  for (const certificateAuthority of ['none', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----']) {
    it(`must have authorities that can be read, not ${JSON.stringify(certificateAuthority.slice(0, 9))}`, async () => {
      await using provider = await TestProvider.start();
      const settings = provider.settings({}, { certificateAuthority });
      assert.throws(() => authenticators(provider.settings(), settings));
    });
  }
});
