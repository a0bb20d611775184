import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { Command } from '../support/command.ts';
import { ConversionWebhook } from '../support/conversion-webhook.ts';
import { definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Definitions and their objects are the same, byte for byte, wherever the data goes: a restart, a backup, another server. */

const spec = (properties: Readonly<Record<string, unknown>>) => ({ spec: { type: 'object', properties } });
const integer = { type: 'integer' };
const group = (called: string): string => `${called}.example.com`;
const inGroup = (called: string, version = 'v1', name = ''): string =>
  `/apis/${group(called)}/${version}/namespaces/default/widgets${name === '' ? '' : `/${name}`}`;
const nameOf = (called: string): string => `widgets.${group(called)}`;

async function send<T = Record<string, unknown>>(
  server: OrchProcess,
  method: string,
  path: string,
  body?: unknown,
  type = 'application/json',
): Promise<T> {
  const answer = await server.request<T>(method, path, { body, headers: { 'content-type': type } });
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer.json;
}
const merge = (server: OrchProcess, path: string, body: unknown): Promise<unknown> =>
  send(server, 'PATCH', path, body, 'application/merge-patch+json');

interface WithStatus {
  readonly status?: {
    readonly storedVersions?: readonly string[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

async function define(
  server: OrchProcess,
  called: string,
  versions: readonly Readonly<Record<string, unknown>>[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const definition = definitionOf({ group: group(called), versions });
  await send(server, 'POST', definitionPath(), { ...definition, spec: { ...definition.spec, ...more } });
  await until(async () => {
    const { status } = await send<WithStatus>(server, 'GET', definitionPath(nameOf(called)));
    return status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') === true;
  });
}

const twoVersions = (stored: string, ...fields: readonly Readonly<Record<string, unknown>>[]) =>
  ['v1', 'v2'].map((name, at) =>
    versionOf(spec(fields[at] ?? { size: integer }), {
      ...{ name, storage: name === stored, subresources: { status: {} } },
      additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
    }),
  );

const widget = (called: string, name: string, fields: unknown, version = 'v1') => ({
  ...{ apiVersion: `${group(called)}/${version}`, kind: 'Widget', spec: fields },
  metadata: { name, labels: { of: called }, annotations: { 'example.com/large': '9007199254740993' } },
});

/** Makes objects in both versions, by several managers, of which the first stays in the version that is stored no more. */
async function fill(server: OrchProcess, called: string): Promise<void> {
  await send(server, 'POST', inGroup(called), widget(called, 'first', { size: 1 }));
  const versions = twoVersions('v2', { size: integer }, { size: integer, colour: { type: 'string', default: 'red' } });
  await merge(server, definitionPath(nameOf(called)), { spec: { versions } });
  await until(async () => {
    const { status } = await send<WithStatus>(server, 'GET', definitionPath(nameOf(called)));
    return status?.storedVersions?.join() === 'v1,v2';
  });
  await send(server, 'POST', inGroup(called, 'v2'), widget(called, 'second', { size: 9007199254740991 }, 'v2'));
  const applied = {
    ...widget(called, 'second', { colour: 'blue' }, 'v1'),
    metadata: { name: 'second', labels: { a: 'b' } },
  };
  const path = `${inGroup(called, 'v1', 'second')}?fieldManager=`;
  await send(
    server,
    'PATCH',
    `${path}applier`,
    { ...applied, spec: { size: 9007199254740991 } },
    'application/apply-patch+yaml',
  );
  await merge(server, `${inGroup(called, 'v2', 'second')}/status?fieldManager=status`, { status: {} });
}

/** Definitions in each of their states, with objects. */
async function fillAll(server: OrchProcess, webhook: ConversionWebhook): Promise<void> {
  await define(server, 'none', twoVersions('v1'));
  await fill(server, 'none');
  await define(server, 'webhook', twoVersions('v1'), { conversion: webhook.conversion() });
  await fill(server, 'webhook');
  // Being deleted, for as long as an object has a finalizer.
  await define(server, 'ending', [versionOf(spec({ size: integer }))]);
  const held = widget('ending', 'held', { size: 1 });
  await send(server, 'POST', inGroup('ending'), {
    ...held,
    metadata: { ...held.metadata, finalizers: ['example.com/hold'] },
  });
  await send(server, 'DELETE', definitionPath(nameOf('ending')));
  // Without the names that it wants.
  const rival = definitionOf({ group: group('none'), kind: 'Rival' });
  const names = { ...rival.spec.names, listKind: 'WidgetList' };
  await send(server, 'POST', definitionPath(), { ...rival, spec: { ...rival.spec, names } });
  await until(async () => {
    const definitions = await Promise.all(
      [rival.metadata.name, nameOf('ending')].map((name) => send<WithStatus>(server, 'GET', definitionPath(name))),
    );
    const [refused, ending] = definitions.map(({ status }) => status?.conditions ?? []);
    return (
      refused?.some(({ type, status }) => type === 'NamesAccepted' && status === 'False') === true &&
      ending?.some(({ type, status }) => type === 'Terminating' && status === 'True') === true
    );
  });
}

/** What clients see of it all. */
async function seen(server: OrchProcess): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  const objects = ['none', 'webhook'].flatMap((called) =>
    ['v1', 'v2'].flatMap((version) => ['first', 'second'].map((name) => inGroup(called, version, name))),
  );
  const ending = inGroup('ending', 'v1', 'held');
  const definitions = ['none', 'webhook', 'ending'].map((called) => definitionPath(nameOf(called)));
  for (const path of [...definitions, definitionPath(`rivals.${group('none')}`), ...objects, ending]) {
    const { status, text } = await server.get(path);
    assert.equal(status, 200, `${path}: ${text}`);
    found[path] = text;
  }
  const lists = ['none', 'webhook'].flatMap((called) => ['v1', 'v2'].map((version) => inGroup(called, version)));
  for (const path of lists) {
    const { text, status } = await server.get<{ items: unknown[] }>(path);
    assert.equal(status, 200, `${path}: ${text}`);
    // The list itself is of another moment.
    found[path] = text.replace(/"metadata":\{"resourceVersion":"\d+"\}/, '');
  }
  return found;
}

/** The data goes on as data of a server does. */
async function goesOn(server: OrchProcess): Promise<void> {
  await merge(server, inGroup('ending', 'v1', 'held'), { metadata: { finalizers: null } });
  await until(async () => (await server.get(definitionPath(nameOf('ending')))).status === 404, 'the definition stays');
  for (const called of ['none', 'webhook']) {
    await merge(server, inGroup(called, 'v2', 'first'), { spec: { size: 2 } });
    const { spec: fields } = await send<{ spec: { size: number } }>(server, 'GET', inGroup(called, 'v1', 'first'));
    assert.equal(fields.size, 2);
    const wrong = await server.post(inGroup(called, 'v2'), widget(called, 'wrong', { size: 'large' }, 'v2'));
    assert.equal(wrong.status, 422, wrong.text);
  }
}

interface Setting {
  readonly original: OrchProcess;
  readonly folder: string;
}

interface Case {
  readonly what: string;
  /** The original may be stopped and started again. */
  readonly copy: (setting: Setting) => Promise<OrchProcess>;
}

async function run(...args: readonly string[]): Promise<void> {
  await using command = new Command(...args);
  assert.equal(await command.exit(), 0, command.err);
}

const restarts: readonly Case[] = [
  {
    what: 'a restart',
    async copy({ original }) {
      await original.stop();
      await original.restart();
      return original;
    },
  },
  {
    what: 'a crash',
    async copy({ original }) {
      await original.kill();
      await original.restart();
      return original;
    },
  },
];

const copies: readonly Case[] = [
  {
    what: 'a backup that is restored',
    async copy({ original, folder }) {
      const [from, dataDir] = [join(folder, 'backup.db'), join(folder, 'restored')];
      await run('backup', `--to=${from}`, `--data-dir=${original.dataDir}`);
      await run('restore', `--from=${from}`, `--data-dir=${dataDir}`);
      return OrchProcess.start({ dataDir });
    },
  },
  {
    what: 'a backup that is served as it is',
    async copy({ original, folder }) {
      const file = join(folder, 'backup.db');
      await run('backup', `--to=${file}`, `--data-dir=${original.dataDir}`);
      return OrchProcess.start({ dataDir: join(folder, 'other'), flags: [`--sqlite-file=${file}`] });
    },
  },
  {
    what: 'a copy of the folder',
    async copy({ original, folder }) {
      await original.stop();
      cpSync(original.dataDir, join(folder, 'copy'), { recursive: true });
      await original.restart();
      return OrchProcess.start({ dataDir: join(folder, 'copy') });
    },
  },
];

describe('custom resources survive', { timeout: 5 * 60_000 }, () => {
  let webhook: ConversionWebhook;
  before(async () => {
    webhook = await ConversionWebhook.start();
  });
  after(() => webhook[Symbol.asyncDispose]());

  async function check({ copy }: Case, flags: readonly string[] = []): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'copied-custom-'));
    try {
      await using original = await OrchProcess.start({ flags });
      await fillAll(original, webhook);
      const expected = await seen(original);
      // No wait: kinds are served by a server that is ready.
      await using server = await copy({ original, folder });
      assert.deepEqual(await seen(server), expected);
      await goesOn(server);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  for (const each of [...restarts, ...copies]) test(each.what, () => check(each));

  test('a restore in the place of a server that runs is refused, and changes nothing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'copied-custom-'));
    try {
      await using server = await OrchProcess.start();
      await define(server, 'none', twoVersions('v1'));
      const from = join(folder, 'backup.db');
      await run('backup', `--to=${from}`, `--data-dir=${server.dataDir}`);
      await fill(server, 'none');
      const backup = readFileSync(from);
      await using command = new Command('restore', `--from=${from}`, `--data-dir=${server.dataDir}`);
      assert.equal(await command.exit(), 1, command.err);
      assert.deepEqual(readFileSync(from), backup);
      assert.equal((await server.get(inGroup('none', 'v1', 'first'))).status, 200);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  describe('on etcd', { skip: etcdMissing }, () => {
    let etcd: EtcdProcess;
    let prefixes = 0;
    before(async () => {
      etcd = await startEtcd();
    });
    after(() => etcd?.stop());
    const flags = (): readonly string[] => [`--etcd-servers=${etcd.endpoint}`, `--etcd-prefix=/copied-${++prefixes}`];

    for (const each of restarts) test(each.what, () => check(each, flags()));

    test('a second server', () => {
      const shared = flags();
      return check({ what: '', copy: () => OrchProcess.start({ flags: shared }) }, shared);
    });
  });
});
