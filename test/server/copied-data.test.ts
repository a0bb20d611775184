import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Command } from '../support/command.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Clients of a server that are sent to a copy of its data: revisions that the copy never saw mean something else there, so
 * they are told to list again, whatever revision they come with. Those of a server that was only restarted go on.
 */

const path = '/api/v1/namespaces/default/configmaps';

interface Item {
  readonly metadata: { readonly resourceVersion: string };
}

/** What clients of the original have seen. */
interface Seen {
  /** Before the copy was made. */
  readonly older: string;
  /** The last that the copy has. */
  readonly head: string;
  /** After the copy was made. */
  readonly beyond: string;
}

interface Setting {
  readonly folder: string;
  readonly original: OrchProcess;
  readonly file: string;
}

interface Case {
  readonly name: string;
  /** Copies the data of the original, which runs, and may be stopped and started. */
  readonly copy: (setting: Setting) => Promise<void>;
  /** Starts the server that clients of the original come to. */
  readonly serve: (setting: Setting) => Promise<OrchProcess>;
  readonly outcome: 'goes on' | 'lists again';
}

const backup = async ({ original, folder }: Setting): Promise<void> => {
  await run('backup', `--to=${join(folder, 'copy.db')}`, `--data-dir=${original.dataDir}`);
};

async function run(...args: readonly string[]): Promise<void> {
  await using command = new Command(...args);
  assert.equal(await command.exit(), 0, command.err);
}

/** By hand, of a server that is stopped as it should be. */
const copyFolder = async ({ original, folder }: Setting): Promise<void> => {
  await original.stop();
  cpSync(original.dataDir, join(folder, 'copy'), { recursive: true });
  await original.restart();
};

const copyFile = async (setting: Setting): Promise<void> => {
  await setting.original.stop();
  writeFileSync(join(setting.folder, 'copy.db'), readFileSync(setting.file));
  await setting.original.restart();
};

const restarted = async ({ original }: Setting): Promise<OrchProcess> => {
  await original.stop();
  await original.restart();
  return original;
};

/** Of the file in the place of the original's, whose other files stay. */
const inPlace =
  (place: (setting: Setting) => void) =>
  async (setting: Setting): Promise<OrchProcess> => {
    await setting.original.stop();
    place(setting);
    await setting.original.restart();
    return setting.original;
  };

const beside = async ({ folder }: Setting): Promise<OrchProcess> =>
  OrchProcess.start({ dataDir: join(folder, 'other'), flags: [`--sqlite-file=${join(folder, 'copy.db')}`] });

const cases: readonly Case[] = [
  { name: 'the original, restarted', copy: async () => {}, serve: restarted, outcome: 'goes on' },
  {
    name: 'the original, killed and restarted',
    copy: async () => {},
    async serve({ original }) {
      await original.kill();
      await original.restart();
      return original;
    },
    outcome: 'goes on',
  },
  {
    name: 'the original, its folder moved',
    copy: async () => {},
    async serve({ original, folder }) {
      await original.stop();
      renameSync(original.dataDir, join(folder, 'moved'));
      mkdirSync(original.dataDir);
      return OrchProcess.start({ dataDir: join(folder, 'moved') });
    },
    outcome: 'goes on',
  },
  {
    name: 'a backup served in place',
    copy: backup,
    serve: inPlace(({ file, folder }) => {
      rmSync(file);
      renameSync(join(folder, 'copy.db'), file);
    }),
    outcome: 'lists again',
  },
  {
    name: 'a backup written over the file',
    copy: backup,
    serve: inPlace(({ file, folder }) => writeFileSync(file, readFileSync(join(folder, 'copy.db')))),
    outcome: 'lists again',
  },
  { name: 'a backup served beside', copy: backup, serve: beside, outcome: 'lists again' },
  {
    name: 'a restored backup',
    copy: backup,
    async serve({ original, file, folder }) {
      await original.stop();
      rmSync(file);
      await run('restore', `--from=${join(folder, 'copy.db')}`, `--data-dir=${original.dataDir}`);
      await original.restart();
      return original;
    },
    outcome: 'lists again',
  },
  { name: 'a file copied by hand and served beside', copy: copyFile, serve: beside, outcome: 'lists again' },
  {
    name: 'a file copied by hand, the folder with it',
    copy: copyFolder,
    serve: ({ folder }) => OrchProcess.start({ dataDir: join(folder, 'copy') }),
    outcome: 'lists again',
  },
  {
    name: 'a file copied by hand and written back over the original',
    copy: copyFile,
    serve: inPlace(({ file, folder }) => writeFileSync(file, readFileSync(join(folder, 'copy.db')))),
    outcome: 'lists again',
  },
];

const write = async (server: OrchProcess, name: string): Promise<string> => {
  const answer = await server.post<Item>(path, { metadata: { name, labels: { of: 'test' } } });
  assert.equal(answer.status, 201, answer.text);
  return answer.json.metadata.resourceVersion;
};

const shown = ({ events }: ReturnType<OrchProcess['watch']>): readonly string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata?.name ?? object.code}`);

/** What a watch from each of the versions shows, and a write that comes after it. */
const goingOn: Readonly<Record<keyof Seen, readonly string[]>> = {
  older: ['ADDED b', 'ADDED c', 'ADDED later'],
  head: ['ADDED c', 'ADDED later'],
  beyond: ['ADDED later'],
};

describe('clients that come from the original to', { timeout: 5 * 60_000 }, () => {
  for (const { name, copy, serve, outcome } of cases) {
    test(`${name}: ${outcome}`, { timeout: 120_000 }, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'copied-data-'));
      try {
        await using original = await OrchProcess.start();
        const setting = { folder, original, file: join(original.dataDir, 'orch.db') };
        const older = await write(original, 'a');
        const head = await write(original, 'b');
        await copy(setting);
        const seen: Seen = { older, head, beyond: await write(original, 'c') };
        await using server = await serve(setting);
        for (const from of ['older', 'head', 'beyond'] as const) {
          const watch = server.watch(`${path}?watch=1&labelSelector=of%3Dtest&resourceVersion=${seen[from]}`);
          await watch.until(({ status }) => status === 200);
          if (from === 'older') await write(server, 'later');
          const wanted = outcome === 'goes on' ? goingOn[from] : ['ERROR 410'];
          await watch.until(({ events }) => events.length >= wanted.length);
          watch.close();
          assert.deepEqual(shown(watch), wanted, from);
        }
        const { status, json } = await server.get<{ items: unknown[] } & Item>(`${path}?labelSelector=of%3Dtest`);
        assert.deepEqual([status, json.items.length], [200, outcome === 'goes on' ? 4 : 3]);
        const again = server.watch(
          `${path}?watch=1&labelSelector=of%3Dtest&resourceVersion=${json.metadata.resourceVersion}`,
        );
        await again.until(({ status: opened }) => opened === 200);
        await write(server, 'last');
        await again.until(({ events }) => events.length > 0);
        again.close();
        assert.deepEqual(shown(again), ['ADDED last'], 'whoever has listed again goes on');
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }

  test('a version that the data has never had: lists again, whatever happens to the data', async () => {
    await using server = await OrchProcess.start();
    const now = Number(await write(server, 'a'));
    const watch = server.watch(`${path}?watch=1&resourceVersion=${now + 1_000_000}`);
    await watch.until(({ events }) => events.length > 0);
    assert.deepEqual(shown(watch), ['ERROR 410']);
    assert.match(watch.events[0]?.object['message'] as string, /is none of this data: list again/);
    watch.close();
  });
});
