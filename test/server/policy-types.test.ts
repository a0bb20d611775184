import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { dialects } from '../../src/dialect/dialects.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { OrchProcess, type RequestOptions } from '../support/orch-process.ts';

/** Types of expressions in policies are checked, and the status says what was found. */

interface Policy extends ApiObject {
  readonly status: {
    readonly observedGeneration?: number;
    readonly typeChecking?: { readonly expressionWarnings?: readonly object[] };
  };
}

const controller = 'validatingadmissionpolicy-status-controller';
const manager = 'validatingadmissionpolicy-status';
const merge: RequestOptions['headers'] = { 'content-type': 'application/merge-patch+json' };

const marked = (source: string, column: number, reason: string): string =>
  `ERROR: <input>:1:${column}: ${reason}\n | ${source}\n | ${'.'.repeat(column - 1)}^\n`;

for (const dialect of Object.values(dialects)) {
  describe(`types of the expressions of policies, in the dialect ${dialect.name}`, () => {
    let server: OrchProcess;
    before(async () => {
      server = await OrchProcess.start({ flags: [`--dialect=${dialect.name}`] });
    });
    after(() => server[Symbol.asyncDispose]());

    const apiVersion = `${dialect.group('admissionregistration')}/v1`;
    const path = (name = ''): string => `/apis/${apiVersion}/validatingadmissionpolicies${name && `/${name}`}`;
    const group = 'example.com';

    const rule = (groups: string, resources: string): object => ({
      ...{ operations: ['CREATE'], apiGroups: groups.split(' ').map((name) => (name === 'core' ? '' : name)) },
      ...{ apiVersions: ['v1'], resources: resources.split(' ') },
    });
    const specOf = (sources: readonly string[], resourceRules: readonly object[], more: object = {}): object => ({
      matchConstraints: { resourceRules },
      validations: sources.map((expression) => ({ expression })),
      ...more,
    });

    async function send(method: string, target: string, body: object, status: number, headers = {}): Promise<Policy> {
      const answer = await server.request<Policy>(method, target, { body, headers });
      assert.equal(answer.status, status, answer.text);
      return answer.json;
    }
    const create = (name: string, spec: object): Promise<Policy> =>
      send('POST', path(), { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata: { name }, spec }, 201);
    const patch = (name: string, spec: object): Promise<Policy> => send('PATCH', path(name), { spec }, 200, merge);
    const get = async (name: string): Promise<Policy> => (await server.get<Policy>(path(name))).json;

    /** The policy when this generation has been observed. */
    async function observed(name: string, generation: number): Promise<Policy> {
      let policy: Policy | undefined;
      await until(async () => {
        policy = await get(name);
        return policy.status.observedGeneration === generation;
      }, `generation ${generation} of ${name} is not observed`);
      return policy ?? assert.fail();
    }
    const warningsOf = async (name: string, generation: number): Promise<unknown> =>
      (await observed(name, generation)).status.typeChecking;

    async function define(kind: string, properties: Readonly<Record<string, unknown>>): Promise<void> {
      const definition = definitionOf({ group, kind, dialect, properties });
      await send('POST', definitionPath(undefined, dialect), definition, 201);
      await until(async () => (await server.get(`/apis/${group}/v1/${kind.toLowerCase()}s`)).status === 200);
    }
    const replicas = { spec: { type: 'object', properties: { replicas: { type: 'integer' } } } };

    it('of built-in and of custom kinds, and again after each change', async () => {
      await define('Widget', replicas);
      const source = 'object.spec.replicaz > 5';
      await create('both', specOf([source, 'has(object.spec)'], [rule('core', 'pods'), rule(group, 'widgets')]));
      const undefinedField = marked(source, 12, "undefined field 'replicaz'");
      const warning = `/v1, Kind=Pod: ${undefinedField}\n${group}/v1, Kind=Widget: ${undefinedField}`;
      const found = await observed('both', 1);
      assert.deepEqual(found.status, {
        observedGeneration: 1,
        typeChecking: { expressionWarnings: [{ fieldRef: 'spec.validations[0].expression', warning }] },
      });
      const [, owned] = found.metadata.managedFields ?? [];
      assert.deepEqual([owned?.manager, owned?.subresource], [manager, 'status']);

      const wrong = "object.spec.replicas == 'a'";
      await patch('both', specOf([wrong], [rule(group, 'widgets')]));
      const mismatch = marked(wrong, 22, "found no matching overload for '_==_' applied to '(int, string)'");
      assert.deepEqual(await warningsOf('both', 2), {
        expressionWarnings: [
          { fieldRef: 'spec.validations[0].expression', warning: `${group}/v1, Kind=Widget: ${mismatch}` },
        ],
      });
      await patch('both', specOf(['object.spec.replicas == 5'], [rule(group, 'widgets')]));
      assert.deepEqual(await warningsOf('both', 3), {});
    });

    it('of params, and of messages', async () => {
      await define('Limit', { max: { type: 'integer' } });
      const message = "'at most ' + params.max";
      const validations = [{ expression: 'object.data.size() <= params.max', messageExpression: message }];
      const paramKind = { apiVersion: `${group}/v1`, kind: 'Limit' };
      await create('limited', specOf([], [rule('core', 'configmaps')], { validations, paramKind }));
      const mismatch = marked(message, 12, "found no matching overload for '_+_' applied to '(string, int)'");
      assert.deepEqual(await warningsOf('limited', 1), {
        expressionWarnings: [
          { fieldRef: 'spec.validations[0].messageExpression', warning: `/v1, Kind=ConfigMap: ${mismatch}` },
        ],
      });
    });

    it('not of a kind that comes later, until the policy changes', async () => {
      const paramKind = { apiVersion: `${group}/v1`, kind: 'Later' };
      await create('early', specOf(['object.nope == 1'], [rule(group, 'laters')]));
      await create('early-params', specOf(['params.nope == 1'], [rule('core', 'pods')], { paramKind }));
      assert.deepEqual([await warningsOf('early', 1), await warningsOf('early-params', 1)], [{}, {}]);
      await define('Later', {});
      // Whatever comes after the definition is seen after it.
      await create('late', specOf(['object.nope == 1'], [rule(group, 'laters')]));
      assert.notDeepEqual(await warningsOf('late', 1), {});
      assert.deepEqual(await warningsOf('early', 1), {});
      await patch('early', { failurePolicy: 'Ignore' });
      assert.notDeepEqual(await warningsOf('early', 2), {});
    });

    it('of rules without wildcards only, and not of unknown kinds', async () => {
      const rows = [rule('*', 'pods'), rule('core', '*'), rule('core', 'pods/status'), rule('apps', 'nothing')];
      for (const [index, each] of rows.entries()) {
        await create(`open-${index}`, specOf(['object.nope == 1'], [each]));
        assert.deepEqual(await warningsOf(`open-${index}`, 1), {}, JSON.stringify(each));
      }
    });

    it('of more groups than are asked for one by one', async () => {
      await create('groups', specOf(['object.nope == 1'], [rule('a b c d e f core', 'pods')]));
      const warning = `/v1, Kind=Pod: ${marked('object.nope == 1', 7, "undefined field 'nope'")}`;
      assert.deepEqual(await warningsOf('groups', 1), {
        expressionWarnings: [{ fieldRef: 'spec.validations[0].expression', warning }],
      });
    });

    it('once more if the status is lost', async () => {
      await create('lost', specOf(['object.nope == 1'], [rule('core', 'pods')]));
      const before = await observed('lost', 1);
      await send('PATCH', `${path('lost')}/status`, { status: null }, 200, merge);
      assert.deepEqual((await observed('lost', 1)).status, before.status);
    });

    it('of policies that changed while nobody looked', async () => {
      await create('before', specOf(['object.nope == 1'], [rule('core', 'pods')]));
      const seen = await observed('before', 1);
      await server.stop();
      await using off = await OrchProcess.start({
        flags: [`--dialect=${dialect.name}`, `--controllers=*,-${controller}`],
        dataDir: server.dataDir,
      });
      const body = specOf(['object.nope == 2'], [rule('core', 'pods')]);
      const { json } = await off.request<Policy>('PATCH', path('before'), { body: { spec: body }, headers: merge });
      assert.deepEqual([json.metadata.generation, json.status], [2, seen.status]);
      await off.stop();
      await server.restart();
      await observed('before', 2);
    });
  });
}
