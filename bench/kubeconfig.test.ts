import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { readKubeconfig } from './kubeconfig.ts';

const directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
after(() => rmSync(directory, { recursive: true }));

const data = (text: string): string => Buffer.from(text).toString('base64');

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
}

function written({ cluster = {}, user = { token: 'secret' } }: Parts): string {
  const path = join(directory, 'config');
  const file = {
    'current-context': 'here',
    contexts: [
      { name: 'there', context: { cluster: 'there', user: 'there' } },
      { name: 'here', context: { cluster: 'one', user: 'me' } },
    ],
    clusters: [
      {
        name: 'one',
        cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority-data': data('ca'), ...cluster },
      },
    ],
    users: [{ name: 'me', user }],
  };
  writeFileSync(path, JSON.stringify(file));
  return path;
}

describe('connection files', () => {
  test('the current context says where the server is, and who asks', () => {
    const user = { 'client-certificate-data': data('cert'), 'client-key-data': data('key') };
    const { ca, cert, key, ...rest } = readKubeconfig(written({ user }));
    assert.deepEqual(
      [String(ca), String(cert), String(key), rest],
      ['ca', 'cert', 'key', { host: '127.0.0.1', port: 6443 }],
    );
  });

  test('files that it names are beside it', () => {
    writeFileSync(join(directory, 'ca.crt'), 'from a file');
    const cluster = {
      server: 'https://[::1]',
      'certificate-authority-data': undefined,
      'certificate-authority': 'ca.crt',
    };
    const { ca, host, port, token } = readKubeconfig(written({ cluster }));
    assert.deepEqual([String(ca), host, port, token], ['from a file', '::1', 443, 'secret']);
  });

  const wrong: readonly (readonly [string, Parts, RegExp])[] = [
    ['no https', { cluster: { server: 'http://127.0.0.1' } }, /clusters\[\]\.cluster\.server: not an https URL/],
    ['a path', { cluster: { server: 'https://127.0.0.1/clusters/one' } }, /server: a URL with a path/],
    ['no authority', { cluster: { 'certificate-authority-data': '' } }, /certificate-authority or its data/],
    ['no credentials', { user: { exec: {} } }, /users\[\]\.user: a client certificate or a token/],
  ];
  for (const [what, parts, expected] of wrong) {
    test(`refused: ${what}`, () => {
      assert.throws(() => readKubeconfig(written(parts)), expected);
    });
  }
});
