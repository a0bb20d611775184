import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import type { CredentialPlugin } from '../connection-config.ts';
import { bareHost } from '../tls-fixture.ts';
import type { Credentials } from './credentials.ts';
import { CredentialPluginError, pluginCredentials } from './plugin-credentials.ts';
import { PluginFixture } from './plugin-fixture.ts';
import type { PluginHost } from './plugin-process.ts';

let plugins: PluginFixture;
before(() => {
  plugins = new PluginFixture();
});
after(() => plugins.close());
beforeEach(() => void plugins.runs());

async function withPlugin(
  plugin: CredentialPlugin,
  use: (credentials: Credentials, clock: ManualClock) => Promise<void>,
  host: Partial<PluginHost> = {},
): Promise<void> {
  const clock = new ManualClock();
  const credentials = pluginCredentials(plugin, { ...bareHost, ...host }, clock);
  try {
    await use(credentials, clock);
  } finally {
    credentials.close();
    assert.equal(clock.pending, 0);
  }
}

/** Returns the token from a file, with additional status fields. */
const tokenFrom = (name: string, more = ''): string =>
  `answer({ token: fs.readFileSync(${JSON.stringify(plugins.file(name))}, 'utf8')${more} });`;

describe('running a plugin', () => {
  const note = (): string =>
    `fs.writeFileSync(${JSON.stringify(plugins.file('seen'))}, JSON.stringify({ info, argv: process.argv.slice(2), ` +
    `own: process.env.OWN, both: process.env.BOTH })); answer({ token: 't' });`;
  const seen = () => JSON.parse(readFileSync(plugins.file('seen'), 'utf8'));

  it('arguments, environment overrides, and the ExecCredential', async () => {
    const plugin = plugins.plugin(note(), {
      args: ['--a', '$(touch x) "; &', ''],
      env: [
        { name: 'BOTH', value: 'its' },
        { name: 'ORCH_EXEC_INFO', value: 'nonsense' },
      ],
      cluster: { server: 'https://h:1', config: { a: 1 } },
    });
    await withPlugin(
      plugin,
      async (credentials) => {
        assert.deepEqual(await credentials.current(), { authorization: 'Bearer t' });
      },
      { environment: { OWN: 'ours', BOTH: 'ours' } },
    );
    assert.deepEqual(seen(), {
      info: {
        kind: 'ExecCredential',
        apiVersion: 'client.authentication.orch.io/v1',
        spec: { cluster: { server: 'https://h:1', config: { a: 1 } }, interactive: false },
      },
      argv: ['--a', '$(touch x) "; &', ''],
      own: 'ours',
      both: 'its',
    });
  });

  for (const [interactiveMode, interactive, told] of [
    ['Never', true, false],
    ['Never', false, false],
    ['IfAvailable', true, true],
    ['IfAvailable', false, false],
    ['Always', true, true],
    ['Always', false, undefined],
  ] as const) {
    it(`standard input: ${interactiveMode} where it ${interactive ? 'is' : 'is not'} a terminal`, async () => {
      const plugin = plugins.plugin(note(), { interactiveMode });
      await withPlugin(
        plugin,
        async (credentials) => {
          if (told === undefined) {
            await assert.rejects(credentials.current(), /it needs standard input, which is no terminal here$/);
            assert.equal(plugins.runs(), 0);
          } else {
            await credentials.current();
            assert.deepEqual(seen().info.spec, { interactive: told });
          }
        },
        { interactive },
      );
    });
  }

  it('a bare name is looked up on the PATH, in absolute directories only', async () => {
    plugins.program("answer({ token: 'found' });", 'get-token');
    writeFileSync(plugins.file('not-executable'), '');
    const PATH = ['', '.', 'bin', '/nowhere', plugins.directory].join(delimiter);
    const environment = { PATH };
    const named = (command: string) => ({ ...plugins.plugin(''), command, installHint: 'Get it at example.com.' });
    await withPlugin(
      named('get-token'),
      async (credentials) => assert.equal((await credentials.current()).authorization, 'Bearer found'),
      { environment },
    );
    for (const command of ['not-there', 'not-executable', plugins.file('not-there'), plugins.directory]) {
      await withPlugin(
        named(command),
        async (credentials) => {
          await assert.rejects(credentials.current(), /is it installed\?\n\nGet it at example.com.$/);
        },
        { environment },
      );
    }
    await withPlugin(named('get-token'), async (credentials) => {
      await assert.rejects(credentials.current(), /there is no executable "get-token"/);
    });
  });

  it('standard error is passed on', async () => {
    const told: string[] = [];
    const plugin = plugins.plugin("process.stderr.write('Open ü in your browser'); answer({ token: 't' });");
    await withPlugin(plugin, async (credentials) => void (await credentials.current()), {
      stderr: (text) => told.push(text),
    });
    assert.equal(told.join(''), 'Open ü in your browser');
  });
});

describe('a credential from a plugin', () => {
  beforeEach(() => writeFileSync(plugins.file('token'), 'one'));

  it('is kept until it expires', async () => {
    const expiry = new Date(new ManualClock().now() + 60_000).toISOString();
    const plugin = plugins.plugin(tokenFrom('token', `, expirationTimestamp: '${expiry}'`));
    await withPlugin(plugin, async (credentials, clock) => {
      const first = await credentials.current();
      clock.advance(60_000);
      assert.equal(await credentials.current(), first);
      assert.equal(plugins.runs(), 1);
      writeFileSync(plugins.file('token'), 'two');
      clock.advance(1);
      assert.deepEqual(await credentials.current(), { authorization: 'Bearer two' });
      assert.equal(plugins.runs(), 1);
    });
  });

  it('is kept until a 401 if it does not expire', async () => {
    await withPlugin(plugins.plugin(tokenFrom('token')), async (credentials, clock) => {
      const first = await credentials.current();
      clock.advance(10 ** 12);
      assert.equal(await credentials.current(), first);
      assert.equal(plugins.runs(), 1);
      assert.equal(await credentials.refused(first), undefined);
      assert.equal(plugins.runs(), 1);
      writeFileSync(plugins.file('token'), 'two');
      const second = await credentials.refused(first);
      assert.deepEqual(second, { authorization: 'Bearer two' });
      assert.equal(await credentials.current(), second);
      // A request sent with the old credential gets the new one without another run.
      assert.equal(await credentials.refused(first), second);
      assert.equal(plugins.runs(), 1);
    });
  });

  it('is obtained once for concurrent requests', async () => {
    await withPlugin(plugins.plugin(tokenFrom('token')), async (credentials) => {
      const [first, same] = await Promise.all([credentials.current(), credentials.current()]);
      assert.equal(first, same);
      assert.equal(plugins.runs(), 1);
      writeFileSync(plugins.file('token'), 'two');
      await Promise.all([credentials.refused(first), credentials.refused(first)]);
      assert.equal(plugins.runs(), 1);
    });
  });

  it('is kept when the plugin fails; the next request runs the plugin again', async () => {
    await withPlugin(plugins.plugin(tokenFrom('token')), async (credentials) => {
      const first = await credentials.current();
      writeFileSync(plugins.file('token'), '');
      await assert.rejects(credentials.refused(first), /neither a token nor a certificate$/);
      assert.equal(await credentials.current(), first);
      writeFileSync(plugins.file('token'), 'two');
      assert.deepEqual(await credentials.refused(first), { authorization: 'Bearer two' });
    });
  });
});

describe('a plugin that fails', () => {
  for (const [what, source, message] of [
    ['exit code', "answer({ token: 'secret' }); process.exitCode = 7;", /it ended with exit code 7$/],
    ['signal', "process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000);", /it was ended by SIGTERM$/],
    ['garbage', "process.stdout.write('secret');", /its answer is no object in JSON$/],
    [
      'other version',
      "info.apiVersion += 'beta1'; answer({ token: 'secret' });",
      /not of apiVersion .*v1 but ".*v1beta1"$/,
    ],
    [
      'too much',
      "process.stdout.write('secret'.repeat(1e6)); setInterval(() => {}, 1000);",
      /it wrote more than \d+ bytes$/,
    ],
  ] as const) {
    it(what, async () => {
      const plugin = plugins.plugin(source);
      await withPlugin(plugin, async (credentials) => {
        await assert.rejects(credentials.current(), (error) => {
          assert.ok(error instanceof CredentialPluginError);
          assert.ok(error.message.startsWith(`credential plugin ${plugin.command}: `));
          assert.match(error.message, message);
          assert.doesNotMatch(JSON.stringify(error) + error.stack + String(error.cause), /secret/);
          return true;
        });
      });
    });
  }

  it('a missing interpreter', async () => {
    writeFileSync(plugins.file('script'), '#!/nowhere/interpreter\n', { mode: 0o755 });
    await withPlugin({ ...plugins.plugin(''), command: plugins.file('script') }, async (credentials) => {
      await assert.rejects(credentials.current(), /it cannot be run: ENOENT$/);
    });
  });

  it('an environment that is too large for the system; arguments are not shown', async () => {
    const plugin = plugins.plugin('', { args: ['secret'], cluster: { config: 'x'.repeat(10 ** 7) } });
    await withPlugin(plugin, async (credentials) => {
      await assert.rejects(credentials.current(), /it cannot be run: E2BIG$/);
    });
  });

  /** Runs until killed; its pid is then in a file. */
  const endless = (): string => {
    const file = JSON.stringify(plugins.file('pid'));
    return `fs.writeFileSync(${file} + '~', String(process.pid)); fs.renameSync(${file} + '~', ${file}); setInterval(() => {}, 1000);`;
  };
  const pidOf = async (): Promise<number> => {
    await until(() => existsSync(plugins.file('pid')), 'the plugin does not begin');
    const pid = Number(readFileSync(plugins.file('pid'), 'utf8'));
    rmSync(plugins.file('pid'));
    return pid;
  };

  for (const [what, message] of [
    ['one that does not end is killed', /it took longer than 300 s$/],
    ['nobody waits for it any more', /it is not waited for any more$/],
  ] as const) {
    it(what, async () => {
      await withPlugin(plugins.plugin(endless()), async (credentials, clock) => {
        const answer = credentials.current();
        answer.catch(() => {});
        const pid = await pidOf();
        if (message.source.includes('longer')) clock.advance(limits.pluginMsMax);
        else credentials.close();
        await assert.rejects(answer, message);
        await until(() => !isRunning(pid), 'the plugin still runs');
      });
    });
  }
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
