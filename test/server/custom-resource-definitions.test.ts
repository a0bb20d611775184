import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { type ApiClient, ApiError } from '../../src/client/api-client.ts';
import { apiApproval } from '../../src/dialect/api-approval.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { Definition } from '../../src/kinds/apiextensions/custom-resource-definition.ts';
import { configMap } from '../../src/kinds/core/config-map.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { systemEnvironment } from '../../src/server/wiring/environment.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { root, serverForSuite } from '../support/in-process-server.ts';

type StoredDefinition = ApiObject & Definition;

/** CustomResourceDefinition as a kind: what is refused, what the server says of a definition, and what it makes of it. */
for (const dialect of [orch, kubernetes]) {
  describe(`custom resource definitions in the dialect ${dialect.name}`, () => {
    const suite = serverForSuite(systemEnvironment, { dialect });
    const client = (): ApiClient => suite.server.clientAs(root, 'test');
    const at = (group?: string, subresource = '', query = ''): string =>
      `${definitionPath(group === undefined ? undefined : `widgets.${group}`, dialect)}${subresource && `/${subresource}`}${query}`;
    const definition = (group: string, more: Readonly<Record<string, unknown>> = {}) => {
      const defined = definitionOf({ group, dialect });
      return { ...defined, spec: { ...defined.spec, ...more } };
    };
    const read = (group: string): Promise<StoredDefinition> => client().get<StoredDefinition>(at(group));
    /** The conditions once there is one of the type. */
    const conditionsWith = async (group: string, type: string, status: string): Promise<readonly string[]> => {
      let shown: readonly string[] = [];
      await until(async () => {
        const { conditions = [] } = (await read(group)).status ?? {};
        shown = (conditions ?? []).map((each) => `${each.type} ${each.status} ${each.reason}: ${each.message}`);
        return (conditions ?? []).some((each) => each.type === type && each.status === status);
      });
      return shown;
    };
    const failure = async (request: Promise<unknown>): Promise<ApiError> => {
      try {
        await request;
      } catch (error) {
        if (error instanceof ApiError) return error;
        throw error;
      }
      return assert.fail('it was accepted');
    };
    const accepted = [
      'NamesAccepted True NoConflicts: no conflicts found',
      'Established True InitialNamesAccepted: the initial names have been accepted',
    ];

    it('every wrong field is a cause of the refusal, and nothing is stored', async () => {
      const group = 'wrong.example.com';
      const versions = [
        {
          name: 'V1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { a: {} } } },
        },
      ];
      const { code, status } = await failure(client().create(at(), definition(group, { scope: 'World', versions })));
      assert.equal(code, 422);
      assert.deepEqual(
        status?.details?.causes?.map(({ reason, field }) => `${reason} ${field}`),
        [
          'FieldValueNotSupported spec.scope',
          'FieldValueInvalid spec.versions[0].name',
          'FieldValueRequired spec.validation.openAPIV3Schema.properties[a].type',
        ],
      );
      assert.equal((await failure(read(group))).code, 404);
    });

    it('unknown fields are named wherever a schema may be', async () => {
      const strict = at(undefined, '', '?fieldValidation=Strict');
      const schema = {
        type: 'object',
        wrong: 1,
        items: { wrong: 1 },
        additionalProperties: { wrong: 1 },
        not: { wrong: 1 },
        allOf: [{ wrong: 1 }],
        dependencies: { a: { wrong: 1 } },
      };
      const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }];
      const { code, status } = await failure(client().create(strict, definition('unknown.example.com', { versions })));
      assert.equal(code, 400);
      const named = [...(status?.message ?? '').matchAll(/openAPIV3Schema\.([^"]*)/g)].map(([, path]) => path);
      assert.deepEqual(named.toSorted(), [
        'additionalProperties.wrong',
        'allOf[0].wrong',
        'dependencies.a.wrong',
        'items.wrong',
        'not.wrong',
        'wrong',
      ]);
    });

    it('a new one has defaults, and is established', async () => {
      const group = 'new.example.com';
      const service = { namespace: 'default', name: 'converter' };
      const conversion = {
        strategy: 'Webhook',
        webhook: { clientConfig: { service }, conversionReviewVersions: ['v1'] },
      };
      const created = await client().create<StoredDefinition>(at(), definition(group, { conversion }));
      assert.deepEqual(created.status, {
        conditions: null,
        acceptedNames: { plural: '', kind: '' },
        storedVersions: ['v1'],
      });
      assert.deepEqual(created.spec?.conversion?.webhook?.clientConfig, { service: { ...service, port: 443 } });
      assert.deepEqual(await conditionsWith(group, 'Established', 'True'), accepted);
      const { metadata, spec, status } = await read(group);
      assert.deepEqual(status?.acceptedNames, spec?.names);
      assert.equal(metadata.generation, 1);
    });

    it('the approval of a protected group is a condition', async () => {
      const group = `new.${dialect.domain}`;
      const { code, status } = await failure(client().create(at(), definition(group)));
      assert.equal(code, 422);
      const name = `api-approved.${dialect.domain}`;
      assert.deepEqual(
        status?.details?.causes?.map(({ field }) => field),
        [`metadata.annotations[${name}]`],
      );
      const approved = (value: string) => ({ metadata: { annotations: { [name]: value } } });
      const defined = definition(group);
      await client().create(at(), {
        ...defined,
        metadata: { ...defined.metadata, ...approved('unapproved, a test').metadata },
      });
      const { condition } = apiApproval;
      assert.deepEqual(await conditionsWith(group, 'Established', 'True'), [
        `${condition} False UnapprovedAnnotation: not approved: "unapproved, a test"`,
        ...accepted,
      ]);
      await client().mergePatch(at(group), approved('https://example.com/1'));
      const [first] = await conditionsWith(group, condition, 'True');
      assert.equal(first, `${condition} True ApprovedAnnotation: approved in https://example.com/1`);
    });

    it('with an invalid caBundle it is not established before it has another one', async () => {
      const group = 'bundle.example.com';
      const bundle = (text: string) => ({
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: 'https://127.0.0.1:1/', caBundle: Buffer.from(text).toString('base64') },
          conversionReviewVersions: ['v1'],
        },
      });
      await client().create(at(), definition(group, { conversion: bundle('nothing') }));
      assert.deepEqual(await conditionsWith(group, 'Established', 'False'), [
        accepted[0],
        'Established False InvalidCABundle: The conversion webhook CABundle is invalid',
      ]);
      const { cert } = makeCertificate({ name: 'converter', authority: true });
      await client().mergePatch(at(group), { spec: { conversion: bundle(cert) } });
      await conditionsWith(group, 'Established', 'True');
      const { code, status } = await failure(client().mergePatch(at(group), { spec: { conversion: bundle('again') } }));
      assert.equal(code, 422);
      assert.deepEqual(
        status?.details?.causes?.map(({ field }) => field),
        ['spec.conversion.webhookClientConfig.caBundle'],
      );
    });

    it('names of resources that nobody defined are taken', async () => {
      const group = 'library.example.com';
      await suite.server.resources.add({
        ...configMap(dialect),
        ...{ group, kind: 'Widget', listKind: 'WidgetList', resource: 'widgets', singular: 'widget', shortNames: [] },
      });
      await client().create(at(), definition(group));
      assert.deepEqual(await conditionsWith(group, 'NamesAccepted', 'False'), [
        'NamesAccepted False ListKindConflict: "WidgetList" is already in use',
        'Established False NotAccepted: not all names are accepted',
      ]);
    });

    it('versions may go when nothing is stored in them', async () => {
      const group = 'goes.example.com';
      const version = (name: string, storage: boolean) => ({ ...definition(group).spec.versions[0], name, storage });
      await client().create(at(), definition(group, { versions: [version('v1', true), version('v2', false)] }));
      await conditionsWith(group, 'Established', 'True');
      await client().mergePatch(at(group), { spec: { versions: [version('v1', false), version('v2', true)] } });
      const without = { spec: { versions: [version('v2', true)] } };
      const { status } = await failure(client().mergePatch(at(group), without));
      assert.deepEqual(status?.details?.causes, [
        {
          reason: 'FieldValueInvalid',
          message: 'Invalid value: "v1": must appear in spec.versions',
          field: 'status.storedVersions[0]',
        },
      ]);
      await client().mergePatch(at(group, 'status'), { status: { storedVersions: ['v2'] } });
      const { spec } = await client().mergePatch<StoredDefinition>(at(group), without);
      assert.deepEqual(
        spec?.versions?.map(({ name }) => name),
        ['v2'],
      );
    });

    it('names that every object inherits are ordinary', async () => {
      const group = 'inherited.example.com';
      const names = { plural: 'constructor', singular: 'valueof', kind: 'HasOwnProperty', shortNames: ['tostring'] };
      const property = { type: 'string', default: 'x' };
      const properties = JSON.parse(
        `{"__proto__":${JSON.stringify(property)},"constructor":${JSON.stringify(property)}}`,
      );
      const schema = { openAPIV3Schema: { type: 'object', properties } };
      const versions = [{ name: 'constructor', served: true, storage: true, schema }];
      const defined = definition(group, { names, versions });
      await client().create(at(), { ...defined, metadata: { name: `constructor.${group}` } });
      const path = `/apis/${group}/constructor/namespaces/default/constructor`;
      await until(() =>
        client()
          .get(path)
          .then(
            () => true,
            () => false,
          ),
      );
      const object = { apiVersion: `${group}/constructor`, kind: 'HasOwnProperty', metadata: { name: 'one' } };
      const created = await client().create<ApiObject>(path, object);
      assert.deepEqual(
        ['__proto__', 'constructor'].map((name) => Object.getOwnPropertyDescriptor(created, name)?.value),
        ['x', 'x'],
      );
      assert.ok(await client().get(`/openapi/v3/apis/${group}/constructor`));
    });

    it('only changes of the spec count as a generation', async () => {
      const group = 'counted.example.com';
      await client().create(at(), definition(group));
      await conditionsWith(group, 'Established', 'True');
      await client().mergePatch(at(group), { metadata: { labels: { a: 'b' } } });
      await client().mergePatch(at(group, 'status'), { status: { storedVersions: ['v1', 'v0'] } });
      assert.equal((await read(group)).metadata.generation, 1);
      await client().mergePatch(at(group, 'status'), { status: { storedVersions: null } });
      const changed = await client().mergePatch<StoredDefinition>(at(group), {
        spec: { names: { categories: ['all'] } },
      });
      assert.equal(changed.metadata.generation, 2);
    });
  });
}
