import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type KubectlResult, kubectl, kubectlMissing } from '../support/kubectl.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * Every command that writes: `apply` of both sides, `edit`, `patch`, `label`, `replace`, `diff`, `delete` with its cascades,
 * and `--validate`, in both dialects.
 */

interface Thing {
  readonly data?: Readonly<Record<string, string>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
    readonly ownerReferences?: readonly { readonly uid: string }[];
    readonly managedFields?: readonly {
      readonly manager: string;
      readonly operation: string;
      readonly subresource?: string;
    }[];
  };
}

const configMaps = '/api/v1/namespaces/default/configmaps';

const manifest = (name: string, data: Readonly<Record<string, string>>, metadata = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, data });

const managers = ({ metadata }: Thing): readonly string[] =>
  (metadata.managedFields ?? []).map(({ manager, operation, subresource }) =>
    [manager, operation, subresource].filter((part) => part !== undefined).join(' '),
  );

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

let count = 0;
const fresh = (): string => `w${++count}`;

for (const dialect of ['orch', 'kubernetes'] as const) {
  describe(`kubectl writes with --dialect=${dialect}`, { skip: kubectlMissing ?? false }, () => {
    let server: OrchProcess;
    before(async () => {
      server = await OrchProcess.start({ flags: [`--dialect=${dialect}`] });
    });
    after(() => server[Symbol.asyncDispose]());

    const run = (args: string, input?: string): Promise<KubectlResult> =>
      kubectl(server, args.split(' '), input === undefined ? {} : { input });

    /** Runs the client, which must succeed, and say so. */
    async function succeeds(args: string, pattern: RegExp, input?: string): Promise<void> {
      const result = await run(args, input);
      assert.equal(result.code, 0, `${args}: ${result.err}`);
      assert.match(result.out, pattern);
    }

    async function fails(args: string, pattern: RegExp, input?: string): Promise<void> {
      const result = await run(args, input);
      assert.notEqual(result.code, 0, result.out);
      assert.match(result.err, pattern);
    }

    const get = async (name: string): Promise<Thing> => (await server.get<Thing>(`${configMaps}/${name}`)).json;
    const status = async (name: string): Promise<number> => (await server.get(`${configMaps}/${name}`)).status;
    const create = async (data: Readonly<Record<string, string>>, metadata = {}): Promise<string> => {
      const name = fresh();
      assert.equal((await server.post(configMaps, JSON.parse(manifest(name, data, metadata)))).status, 201);
      return name;
    };

    test('apply: creates, is idempotent, merges three ways', async () => {
      const name = fresh();
      await succeeds('apply -f -', /created/, manifest(name, { a: '1', b: '1' }));
      const made = await get(name);
      assert.deepEqual(managers(made), ['kubectl-client-side-apply Update']);
      await succeeds('apply -f -', /unchanged/, manifest(name, { a: '1', b: '1' }));
      assert.equal((await get(name)).metadata.resourceVersion, made.metadata.resourceVersion);
      await succeeds(`patch configmap ${name} --type=merge -p {"data":{"c":"1"}}`, /patched/);
      await succeeds('apply -f -', /configured/, manifest(name, { a: '2' }));
      assert.deepEqual((await get(name)).data, { a: '2', c: '1' });
    });

    test('apply --server-side: conflicts without --force-conflicts, and takes over with it', async () => {
      const name = fresh();
      await succeeds('apply --server-side -f -', /serverside-applied/, manifest(name, { a: '1', b: '1' }));
      const made = await get(name);
      assert.deepEqual(managers(made), ['kubectl Apply']);
      await succeeds('apply --server-side -f -', /serverside-applied/, manifest(name, { a: '1', b: '1' }));
      assert.equal((await get(name)).metadata.resourceVersion, made.metadata.resourceVersion);
      const other = 'apply --server-side --field-manager=other -f -';
      await fails(
        other,
        /Apply failed with 1 conflict: conflict with "kubectl": \.data\.a/,
        manifest(name, { a: '2' }),
      );
      assert.deepEqual((await get(name)).data, { a: '1', b: '1' });
      await succeeds(`${other} --force-conflicts`, /serverside-applied/, manifest(name, { a: '2' }));
      const taken = await get(name);
      assert.deepEqual(taken.data, { a: '2', b: '1' });
      assert.deepEqual(managers(taken), ['kubectl Apply', 'other Apply']);
    });

    test('apply --server-side after apply: no conflict, dropped fields go, and back again', async () => {
      const name = fresh();
      await succeeds('apply -f -', /created/, manifest(name, { a: '1', b: '1' }));
      await succeeds('apply --server-side -f -', /serverside-applied/, manifest(name, { a: '2', b: '1' }));
      const migrated = await get(name);
      // The client keeps the annotation by an apply of its own. Entries are in order of time, in whole seconds, then of name.
      assert.deepEqual(managers(migrated).toSorted(), ['kubectl Apply', 'kubectl-last-applied Apply']);
      assert.deepEqual(JSON.parse(migrated.metadata.annotations?.[lastApplied] ?? '{}').data, { a: '2', b: '1' });
      await succeeds('apply --server-side -f -', /serverside-applied/, manifest(name, { a: '2' }));
      assert.deepEqual((await get(name)).data, { a: '2' });
      await succeeds('apply -f -', /configured/, manifest(name, { a: '3' }));
      assert.deepEqual((await get(name)).data, { a: '3' });
    });

    test('apply --dry-run=server and create --dry-run=server keep nothing', async () => {
      const [absent, there] = [fresh(), await create({ a: '1' })];
      const before = await get(there);
      await succeeds('create --dry-run=server -f -', /created \(server dry run\)/, manifest(absent, {}));
      await succeeds('apply --dry-run=server -f -', /created \(server dry run\)/, manifest(absent, {}));
      await succeeds('apply --dry-run=server -f -', /configured \(server dry run\)/, manifest(there, { a: '2' }));
      const side = 'apply --server-side --force-conflicts --dry-run=server -f -';
      await succeeds(side, /serverside-applied \(server dry run\)/, manifest(there, { a: '2' }));
      assert.equal(await status(absent), 404);
      assert.deepEqual(await get(there), before);
    });

    test('edit saves what the editor wrote; without a change it writes nothing', async () => {
      const name = await create({ a: 'one' });
      const editor = (script: string): string => {
        const path = join(server.dataDir, 'editor.sh');
        writeFileSync(path, `#!/bin/sh\n${script}\n`);
        chmodSync(path, 0o700);
        return path;
      };
      const edit = (script: string): Promise<KubectlResult> =>
        kubectl(server, ['edit', 'configmap', name], { env: { KUBE_EDITOR: editor(script) } });
      const before = await get(name);
      assert.match((await edit('true')).err, /Edit cancelled, no changes made/);
      assert.deepEqual(await get(name), before);
      assert.match((await edit('sed -i "s/one/two/" "$1"')).out, /edited/);
      const edited = await get(name);
      assert.deepEqual(edited.data, { a: 'two' });
      assert.ok(managers(edited).includes('kubectl-edit Update'));
    });

    for (const [type, patch] of [
      ['merge', '{"data":{"a":"2","b":null}}'],
      ['strategic', '{"data":{"a":"2","b":null}}'],
      [
        'json',
        '[{"op":"test","path":"/data/a","value":"1"},{"op":"replace","path":"/data/a","value":"2"},{"op":"remove","path":"/data/b"}]',
      ],
    ] as const) {
      test(`patch --type=${type}`, async () => {
        const name = await create({ a: '1', b: '1' });
        await succeeds(`patch configmap ${name} --type=${type} -p ${patch}`, /patched/);
        const patched = await get(name);
        assert.deepEqual(patched.data, { a: '2' });
        assert.ok(managers(patched).includes('kubectl-patch Update'));
        if (type === 'json') await fails(`patch configmap ${name} --type=json -p ${patch}`, /invalid/);
        else await succeeds(`patch configmap ${name} --type=${type} -p ${patch}`, /no change/);
      });
    }

    test('patch --subresource=status', async () => {
      const name = fresh();
      await server.post('/api/v1/nodes', { metadata: { name, labels: { made: 'here' } } });
      const patch = '{"status":{"phase":"Running"},"spec":{"unschedulable":true}}';
      await succeeds(`patch node ${name} --subresource=status --type=merge -p ${patch}`, /patched/);
      const { json } = await server.get<Thing & { spec?: { unschedulable?: boolean } }>(`/api/v1/nodes/${name}`);
      assert.deepEqual([json.status?.['phase'], json.spec?.unschedulable], ['Running', undefined]);
      assert.ok(managers(json).includes('kubectl-patch Update status'));
    });

    for (const [verb, manager, of] of [
      ['label', 'kubectl-label', ({ metadata }: Thing) => metadata.labels],
      ['annotate', 'kubectl-annotate', ({ metadata }: Thing) => metadata.annotations],
    ] as const) {
      test(`${verb}: sets, overwrites when told, removes`, async () => {
        const name = await create({ a: '1' });
        await succeeds(`${verb} configmap ${name} example.com/x=1`, /labeled|annotated/);
        const set = await get(name);
        assert.deepEqual(of(set), { 'example.com/x': '1' });
        assert.ok(managers(set).includes(`${manager} Update`));
        await fails(`${verb} configmap ${name} example.com/x=2`, /overwrite/);
        await succeeds(`${verb} configmap ${name} example.com/x=2 --overwrite`, /labeled|annotated/);
        assert.deepEqual(of(await get(name)), { 'example.com/x': '2' });
        await succeeds(`${verb} configmap ${name} example.com/x-`, /unlabeled|annotated/);
        assert.equal(of(await get(name)), undefined);
        await fails(`${verb} configmap ${name} example.com/x=3 --resource-version=1`, /Conflict/);
      });
    }

    test('replace: the whole object, not a stale one, not an absent one; --force makes a new one', async () => {
      const name = await create({ a: '1' });
      const before = await get(name);
      await succeeds('replace -f -', /replaced/, manifest(name, { b: '1' }));
      const replaced = await get(name);
      assert.deepEqual([replaced.data, replaced.metadata.uid], [{ b: '1' }, before.metadata.uid]);
      const { resourceVersion } = before.metadata;
      await fails(
        'replace -f -',
        /Conflict.*the object has been modified/s,
        manifest(name, { c: '1' }, { resourceVersion }),
      );
      await fails('replace -f -', /NotFound/, manifest(fresh(), {}));
      await succeeds('replace --force -f -', /replaced/, manifest(name, { d: '1' }));
      const forced = await get(name);
      assert.deepEqual(forced.data, { d: '1' });
      assert.notEqual(forced.metadata.uid, before.metadata.uid);
    });

    for (const side of ['', ' --server-side']) {
      test(`diff${side} shows what would change, exits 1 for it, and keeps nothing`, async () => {
        const name = fresh();
        await succeeds(`apply${side} -f -`, /created|serverside-applied/, manifest(name, { a: '1' }));
        const before = await get(name);
        assert.equal((await run(`diff${side} -f -`, manifest(name, { a: '1' }))).code, 0);
        const different = await run(`diff${side} -f -`, manifest(name, { a: '2' }));
        assert.equal(different.code, 1, different.err);
        assert.match(different.out, /^-\s+a: "1"$/m);
        assert.match(different.out, /^\+\s+a: "2"$/m);
        assert.deepEqual(await get(name), before);
      });
    }

    for (const cascade of ['background', 'foreground', 'orphan'] as const) {
      test(`delete --cascade=${cascade}`, async () => {
        const owner = await create({});
        const { uid } = (await get(owner)).metadata;
        const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid };
        const child = await create({}, { ownerReferences: [reference] });
        await succeeds(`delete configmap ${owner} --cascade=${cascade}`, /deleted/);
        assert.equal(await status(owner), 404);
        if (cascade === 'orphan') {
          const orphan = await get(child);
          assert.deepEqual(
            [orphan.metadata.ownerReferences, orphan.metadata.deletionTimestamp],
            [undefined, undefined],
          );
          return;
        }
        if (cascade === 'background') await run(`wait --for=delete configmap/${child} --timeout=30s`);
        assert.equal(await status(child), 404);
      });
    }

    test('delete --wait=false leaves what a finalizer holds, until a patch takes it away', async () => {
      const name = await create({}, { finalizers: ['example.com/held'] });
      await succeeds(`delete configmap ${name} --wait=false`, /deleted/);
      assert.ok((await get(name)).metadata.deletionTimestamp);
      await succeeds(`patch configmap ${name} --type=merge -p {"metadata":{"finalizers":null}}`, /patched/);
      assert.equal(await status(name), 404);
    });

    test('delete by selector, of what is absent, and dry', async () => {
      const label = fresh();
      const [one, two] = [await create({}, { labels: { label } }), await create({}, { labels: { label } })];
      const other = await create({});
      await succeeds(`delete configmap ${other} --dry-run=server`, /server dry run/);
      await succeeds(`delete configmap -l label=${label}`, /deleted/);
      assert.deepEqual([await status(one), await status(two), await status(other)], [404, 404, 200]);
      await fails('delete configmap absent', /NotFound/);
      await succeeds('delete configmap absent --ignore-not-found', /^$/);
    });

    test('delete ns ends when the namespace and all in it are gone', async () => {
      const name = fresh();
      await server.post('/api/v1/namespaces', { metadata: { name } });
      await server.post(`/api/v1/namespaces/${name}/configmaps`, { metadata: { name: 'in' } });
      await succeeds(`delete ns ${name}`, /deleted/);
      assert.equal((await server.get(`/api/v1/namespaces/${name}`)).status, 404);
      assert.equal((await server.get(`/api/v1/namespaces/${name}/configmaps/in`)).status, 404);
    });

    test('create --validate: unknown fields are refused, told or ignored', async () => {
      const odd = (name: string): string => `${manifest(name, {}).slice(0, -1)},"odd":1}`;
      const [strict, warned, ignored] = [fresh(), fresh(), fresh()];
      await fails('create --validate=strict -f -', /unknown field "odd"/, odd(strict));
      assert.equal(await status(strict), 404);
      const told = await run('create --validate=warn -f -', odd(warned));
      assert.deepEqual([told.code, /Warning: unknown field "odd"/.test(told.err)], [0, true]);
      const silent = await run('create --validate=ignore -f -', odd(ignored));
      assert.deepEqual([silent.code, silent.err], [0, '']);
    });
  });
}
