import assert from 'node:assert/strict';
import { it } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, update } from '../strategy-fixture.ts';
import { customResourceDefinition } from './custom-resource-definition.ts';
import { definitionOf, established, type Part, schemaOf, stored, versionOf } from './definition-fixture.ts';

const kind = customResourceDefinition(orch);
const schema = schemaOf({ size: { type: 'integer' } });
const versions = [versionOf({ schema })];
const shown = (object: unknown): unknown => JSON.parse(JSON.stringify(object));

it('a new definition has the defaults and the status that published servers show', () => {
  const status = { conditions: [{ type: 'Established', status: 'True' }], storedVersions: ['v7'] };
  const { object, errors } = create(kind, definitionOf({ versions }, { status }));
  assert.deepEqual(errors, []);
  assert.deepEqual(shown({ spec: object['spec'], status: object['status'] }), {
    spec: {
      group: 'example.com',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema }],
      conversion: { strategy: 'None' },
    },
    status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
  });
});

it('fields that a version must show are there, and zero values of others are not', () => {
  const version = { name: 'v1', deprecated: false, additionalPrinterColumns: [], schema };
  const { spec } = stored(definitionOf({ versions: [version] })) as unknown as { readonly spec: Part };
  assert.deepEqual(shown(spec['versions']), [{ name: 'v1', served: false, storage: false, schema }]);
});

it('every stored version is remembered', () => {
  const old = stored(definitionOf({ versions: [versionOf(), versionOf({ name: 'v2', storage: false })] }));
  const changed = definitionOf({ versions: [versionOf({ storage: false }), versionOf({ name: 'v2' })] });
  const { object, errors } = update(kind, old, changed);
  assert.deepEqual(errors, []);
  assert.deepEqual(Object(object['status']).storedVersions, ['v1', 'v2']);
});

it('the status is written through its own endpoint, which validates names and nothing else', () => {
  const old = established(stored(definitionOf()));
  const status = { acceptedNames: { plural: 'Widgets', kind: 'Widget' }, storedVersions: ['v9'] };
  const { object, errors } = update(kind, old, definitionOf({ scope: 'World' }, { status }), 'status');
  assert.equal(Object(object['spec']).scope, 'Namespaced');
  assert.deepEqual(
    errors.map((error) => error.split(': ', 2).join(': ')),
    ['status.acceptedNames.plural: Invalid value'],
  );
  const emptied = update(kind, old, definitionOf({}, { status: { storedVersions: [] } }), 'status').object;
  assert.deepEqual(Object(emptied['status']).storedVersions, ['v1'], 'as published: the stored one is the default');
});

it('its columns are name and time of creation', () => {
  const sent = {
    ...definitionOf(),
    metadata: { name: 'widgets.example.com', creationTimestamp: '2026-01-01T00:00:00Z' },
  };
  assert.deepEqual(row(kind, sent), { Name: 'widgets.example.com', 'Created At': '2026-01-01T00:00:00Z' });
});
