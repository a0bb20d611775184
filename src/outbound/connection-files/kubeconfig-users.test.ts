import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { systemFiles } from '../../base/files.ts';
import { orch } from '../../dialect/orch.ts';
import { webhookServer } from '../webhook-target.ts';
import { ConnectionFileError } from './connection-file.ts';
import { credentialFor, type KubeconfigUsers, readKubeconfigUsers, userForServer } from './kubeconfig-users.ts';

const directory = mkdtempSync(join(tmpdir(), 'kubeconfig-users-'));
after(() => rmSync(directory, { recursive: true }));

const file = join(directory, 'config');

function read(document: unknown): KubeconfigUsers {
  writeFileSync(file, JSON.stringify(document));
  return readKubeconfigUsers(file, orch, systemFiles);
}

/** A file with users whose tokens are their names. The last one is that of the current context. */
const users = (...names: readonly string[]): KubeconfigUsers =>
  read({
    users: [...names, 'current'].map((name) => ({ name, user: { token: name } })),
    contexts: [{ name: 'c', context: { user: 'current' } }],
    'current-context': 'c',
  });

function tokenOf(source: KubeconfigUsers, server: string): string | undefined {
  const [, name = '', namespace = '', port = '443'] = /^(\w+)\.(\w+)\.svc(?::(\d+))?$/.exec(server) ?? [];
  const target = name
    ? { url: undefined, service: { name, namespace, port: Number(port), path: '/' } }
    : { url: `https://${server}/path`, service: undefined };
  const credential = userForServer(source, webhookServer(target))?.credential;
  return credential?.type === 'stored' && credential.authorization?.type === 'token'
    ? credential.authorization.token
    : undefined;
}

describe('the user of a server', () => {
  /** Names that fit, in the order in which they are taken. */
  const cases: readonly (readonly [server: string, names: readonly string[]])[] = [
    [
      'a.b.example',
      ['a.b.example:443', '*.b.example:443', '*.example:443', 'a.b.example', '*.b.example', '*.example', '*'],
    ],
    ['a.b.example:443', ['a.b.example:443', '*.example:443', 'a.b.example', '*.example', '*']],
    ['a.b.example:8443', ['a.b.example:8443', '*.b.example:8443', '*.example:8443', '*']],
    ['hook.team.svc', ['hook.team.svc:443', '*.svc:443', 'hook.team.svc', '*.team.svc', '*.svc', '*']],
    ['hook.team.svc:8443', ['hook.team.svc:8443', '*.team.svc:8443', '*']],
    ['127.0.0.1:8443', ['127.0.0.1:8443', '*.0.0.1:8443', '*']],
    ['[::1]:8443', ['[::1]:8443', '*']],
    ['[::1]', ['[::1]:443', '::1', '*']],
    ['Hooks.Example', ['HOOKS.example:443', '*.Example', '*']],
  ];
  const others = [
    'b.example',
    'a.b.example:444',
    '*.a.b.example',
    '*.b.example:80',
    '*example',
    'svc',
    '*.1',
    '*:443',
    '1',
  ];
  for (const [server, names] of cases) {
    it(server, () => {
      const order: (string | undefined)[] = [];
      for (let left = [...names]; left.length > 0; left = left.slice(1)) {
        // What is tried last stands first in the file: the order there does not matter.
        order.push(tokenOf(users(...others, ...left.toReversed()), server));
      }
      assert.deepEqual(order, names);
      assert.equal(tokenOf(users(...others), server), 'current');
    });
  }
  it('a name with a port is for no other port, one without for 443 alone', () => {
    const named = users('hook.team.svc', '*.example');
    assert.deepEqual(
      ['hook.team.svc:8443', 'a.example:8443', 'example'].map((server) => tokenOf(named, server)),
      ['current', 'current', 'current'],
    );
  });
  it('none, and no current context', () => {
    assert.equal(userForServer(read({ users: [{ name: 'other', user: {} }] }), { host: 'h', port: 443 }), undefined);
  });
});

it('users are told apart by file and name, without their secrets', () => {
  const [one, other] = [...users('one', 'other').users.values()].map(({ id }) => id);
  assert.deepEqual([one, other], [JSON.stringify([file, 'one']), JSON.stringify([file, 'other'])]);
});

it('a plugin that asks for the cluster hears of the server', () => {
  const exec = {
    ...{ apiVersion: 'client.authentication.orch.io/v1', command: '/bin/p', interactiveMode: 'Never' },
    provideClusterInfo: true,
  };
  const { credential } = read({ users: [{ name: '*', user: { exec } }] }).users.get('*') ?? assert.fail();
  const server = new URL('https://h:1/path?timeout=1s');
  const shown = (authorities: string | undefined) => {
    const source = credentialFor(credential, { server, authorities });
    return source.type === 'plugin' ? source.plugin.cluster : assert.fail();
  };
  assert.deepEqual(shown(undefined), { server: 'https://h:1', config: null });
  assert.deepEqual(shown('ca'), { server: 'https://h:1', 'certificate-authority-data': 'Y2E=', config: null });
});

describe('a file that is refused', () => {
  const user = (fields: object) => ({ users: [{ name: 'u', user: fields }] });
  const cases: readonly (readonly [document: unknown, problem: string])[] = [
    [[], 'it is no object'],
    [{ users: {} }, 'users is no list'],
    [{ users: [7] }, 'an item of users is no object'],
    [{ users: [{ user: {} }] }, 'users[0] has no name'],
    [{ users: [{ name: 'u' }, { name: 'U' }] }, 'there are two users "U"'],
    [{ users: [{ name: 'u', user: 7 }] }, 'the user "u" is no object'],
    [user({ token: 7 }), 'the user "u": token is no text'],
    [user({ token: 't', password: 'p' }), 'the user "u": a token and a password exclude each other'],
    [user({ 'client-key': '/none' }), 'the user "u": client-key: /none cannot be read'],
    [
      user({ 'auth-provider': {} }),
      'the user "u": the user\'s auth-provider is not supported: credential plugins (exec) have replaced it',
    ],
    [user({ exec: {} }), 'the user "u": the user\'s exec does not say which command is meant'],
    [user({ 'as-uid': 'x' }), 'the user "u": as-uid, as-groups and as-user-extra go together with as'],
    [{ 'current-context': 'c' }, 'there is no context "c"'],
    [{ 'current-context': 'c', contexts: [{ name: 'c', context: { user: 'u' } }] }, 'there is no user "u"'],
  ];
  for (const [document, problem] of cases) {
    it(problem, () => {
      assert.throws(
        () => read(document),
        (error) =>
          error instanceof ConnectionFileError && error.message === `${file}: ${problem}` && error.problem === problem,
      );
    });
  }
});
