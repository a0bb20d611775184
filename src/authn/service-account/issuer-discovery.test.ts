import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discoveryProblem, issuerDiscovery } from './issuer-discovery.ts';
import { keySet, makeSigningKey } from './token-fixture.ts';

const [one, two] = [makeSigningKey('RS256'), makeSigningKey('ES256')];
const options = { issuer: 'https://issuer.test', jwksUri: undefined, externalAddress: () => '[::1]:6443' };

test('the configuration has what relying parties need', () => {
  const { body, headers } = issuerDiscovery(options, () => keySet([two, one])).configuration();
  assert.equal(
    body.toString(),
    '{"issuer":"https://issuer.test","jwks_uri":"https://[::1]:6443/openid/v1/jwks","response_types_supported":["id_token"],' +
      '"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256","RS256"]}',
  );
  assert.deepEqual(headers, { 'content-type': 'application/json', 'cache-control': 'public, max-age=3600' });
});

test('the keys may be at another URL', () => {
  const jwksUri = 'https://keys.test/all';
  const { body } = issuerDiscovery({ ...options, jwksUri }, () => keySet([one])).configuration();
  assert.equal(JSON.parse(body.toString()).jwks_uri, jwksUri);
});

test('the key set has public parts only and follows changes of the keys', () => {
  let keys = keySet([one], one);
  const discovery = issuerDiscovery(options, () => keys);
  const shown = (): unknown => JSON.parse(discovery.keySet().body.toString());
  assert.deepEqual(shown(), { keys: [one.jwk] });
  assert.equal(discovery.keySet().headers['content-type'], 'application/jwk-set+json');
  assert.equal(discovery.keySet(), discovery.keySet());
  keys = keySet([one, two], two);
  assert.deepEqual(shown(), { keys: [one.jwk, two.jwk] });
  for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) assert.ok(!discovery.keySet().body.includes(`"${name}"`));
});

test('only issuers with an https URL can be discovered', () => {
  assert.equal(discoveryProblem('https://issuer.test/path'), undefined);
  for (const issuer of ['http://issuer.test', 'issuer', 'urn:x:y', 'https://i.test/?a=b', 'https://i.test/#a', '']) {
    assert.match(discoveryProblem(issuer) ?? '', /^the issuer /, issuer);
  }
});
