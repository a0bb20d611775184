import assert from 'node:assert/strict';
import { it } from 'node:test';
import { httpsUrl, localAddress } from './addresses.ts';

it('the address for clients of this machine', () => {
  assert.deepEqual(
    ['127.0.0.1', '0.0.0.0', '::', '10.0.0.1'].map((address) => httpsUrl(localAddress(address), 1)),
    ['https://127.0.0.1:1', 'https://127.0.0.1:1', 'https://[::1]:1', 'https://10.0.0.1:1'],
  );
});
