import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UsageError } from '../usage-error.ts';
import { boolean, choice, duration, file, integer, list, parseFlags, suggestion, text } from './flags.ts';

const table = {
  'bind-address': text({ default: '127.0.0.1', help: '' }),
  'secure-port': integer({ default: 6443, min: 0, max: 65_535, help: '' }),
  'anonymous-auth': boolean({ default: true, help: '' }),
  'client-ca-file': file({ help: '' }),
  'etcd-servers': list({ default: [], help: '' }),
  dialect: choice({ of: ['orch', 'other'], default: 'orch', help: '' }),
  delay: duration({ default: 0, defaultText: '0s', help: '' }),
  v: integer({ default: 0, min: 0, max: 10, help: '' }),
};

describe('valid arguments', () => {
  for (const [args, expected] of [
    [[], {}],
    [['--secure-port=0'], { 'secure-port': 0 }],
    [['--secure-port', '1'], { 'secure-port': 1 }],
    [['--secure_port=1', '--anonymous_auth'], { 'secure-port': 1, 'anonymous-auth': true }],
    [['--secure-port=1', '--secure-port=2'], { 'secure-port': 2 }],
    [['--anonymous-auth'], { 'anonymous-auth': true }],
    [['--anonymous-auth=false', '--v=3'], { 'anonymous-auth': false, v: 3 }],
    [['--anonymous-auth=0'], { 'anonymous-auth': false }],
    [['--anonymous-auth=T'], { 'anonymous-auth': true }],
    [['--client-ca-file=a=b'], { 'client-ca-file': 'a=b' }],
    [['--client-ca-file', '-'], { 'client-ca-file': '-' }],
    [['--client-ca-file=--x'], { 'client-ca-file': '--x' }],
    [['--etcd-servers=a,b', '--etcd-servers', 'c'], { 'etcd-servers': ['a', 'b', 'c'] }],
    [['--dialect=other'], { dialect: 'other' }],
    [['--delay=1m30s'], { delay: 90_000 }],
    [['-v', '4'], { v: 4 }],
    [['-v=5'], { v: 5 }],
  ] as const) {
    it(JSON.stringify(args), () => {
      const defaults = {
        'bind-address': '127.0.0.1',
        'secure-port': 6443,
        'anonymous-auth': true,
        'client-ca-file': undefined,
        'etcd-servers': [],
        dialect: 'orch',
        delay: 0,
        v: 0,
      };
      assert.deepEqual(parseFlags(table, args), { ...defaults, ...expected });
    });
  }
});

describe('invalid arguments', () => {
  for (const [args, message] of [
    [['--nonsense-flag=1'], 'unknown flag --nonsense-flag'],
    [['--secur-port=1'], 'unknown flag --secur-port; did you mean --secure-port?'],
    [['--no-anonymous-auth'], 'unknown flag --no-anonymous-auth; did you mean --anonymous-auth?'],
    [['-dialect=orch'], 'unknown flag -dialect; did you mean --dialect?'],
    [['--constructor'], 'unknown flag --constructor'],
    [['--secur_port=1'], 'unknown flag --secur_port; did you mean --secure-port?'],
    [['--__proto__=1'], 'unknown flag --__proto__'],
    [['--secure-port'], '--secure-port needs a value: --secure-port=NUMBER'],
    [['--client-ca-file', '--v=1'], '--client-ca-file needs a value: --client-ca-file=FILE'],
    [['--secure-port=abc'], '--secure-port: "abc" is not a whole number from 0 to 65535'],
    [['--secure-port='], '--secure-port: "" is not a whole number from 0 to 65535'],
    [['--secure-port=65536'], '--secure-port: "65536" is not a whole number from 0 to 65535'],
    [['--secure-port=-1'], '--secure-port: "-1" is not a whole number from 0 to 65535'],
    [['--secure-port=1.5'], '--secure-port: "1.5" is not a whole number from 0 to 65535'],
    [['--secure-port=0x10'], '--secure-port: "0x10" is not a whole number from 0 to 65535'],
    [['--bind-address='], '--bind-address: must not be empty'],
    [['--anonymous-auth=maybe'], '--anonymous-auth: "maybe" is neither true nor false'],
    [['--anonymous-auth', 'false'], 'unexpected argument "false": write switches as --flag=false'],
    [['extra'], 'unexpected argument "extra"'],
    [['--v=1', 'ex\ntra'], 'unexpected argument "ex\\ntra"'],
    [['--'], 'unexpected argument "--"'],
    [['--=x'], 'unexpected argument "--=x"'],
    [['--etcd-servers=a,,b'], '--etcd-servers: "a,,b" has an empty item'],
    [['--dialect=klingon'], '--dialect: "klingon" is not one of orch, other'],
    [['--delay=10'], '--delay: "10" is not a duration such as 70s, 1m30s or 1h'],
  ] as const) {
    it(JSON.stringify(args), () => {
      assert.throws(
        () => parseFlags(table, args),
        (error) => error instanceof UsageError && error.message === message,
      );
    });
  }
});

describe('durations', () => {
  const read = duration({ default: 0, defaultText: '', help: '' });
  for (const [value, ms] of [
    ['0', 0],
    ['0s', 0],
    ['70s', 70_000],
    ['1h2m3s', 3_723_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['100ms', 100],
    ['1us', 0.001],
    ['1m1ms', 60_001],
  ] as const) {
    it(value, () => assert.equal(read.parse(value, undefined), ms));
  }
  for (const value of [
    '',
    '1',
    's',
    '-1s',
    '1 s',
    '1s ',
    '1d',
    '1s2',
    '1e3s',
    '1h-2m',
    '9999h',
    `${'9'.repeat(400)}h`,
  ]) {
    it(`${JSON.stringify(value)} is refused`, () => assert.throws(() => read.parse(value, undefined)));
  }
});

it('only near names are suggested', () => {
  const known = ['up', 'apiserver', 'backup'];
  assert.equal(suggestion('apiservr', known, ''), '; did you mean apiserver?');
  assert.equal(suggestion('u', known, ''), '; did you mean up?');
  assert.equal(suggestion('delete', known, ''), '');
});
