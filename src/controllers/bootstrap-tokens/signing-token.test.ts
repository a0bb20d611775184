import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { encodePayload, signDetached } from './detached-signature.ts';
import { readSigningToken } from './signing-token.ts';

describe('the signature of a bootstrap token', () => {
  const data = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-signing': 'true' };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'bootstrap-token-abcdef' },
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
  };
  // Made by the HMAC of another program over the text of RFC 7515 section 5.1.
  const header = 'eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9';
  for (const [dialect, mac] of [
    [orch, 'eE_NbD8NbH2_x4udiKx00dW_jUKFJg_k9eOiYMQaKk0'],
    [kubernetes, '3ZR7IfHD4V0NLYjj9trDyCFIZSwMzkyMpnxx9vCiSPI'],
  ] as const) {
    it(`is keyed with the ${dialect.clusterInfoKey} in the dialect ${dialect.name}`, () => {
      const token = readSigningToken(secret, dialect);
      assert.ok(token);
      assert.equal(signDetached(token.key, encodePayload('kind: Config\n')), `${header}..${mac}`);
    });
  }
});
