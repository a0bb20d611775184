import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Kind } from '../kind.ts';
import { createLater, read, row, type Sent, update, updateLater } from '../strategy-fixture.ts';
import { resourceKinds } from './resource-kinds.ts';

const all = resourceKinds(orch);
const kindOf = (name: string, version = 'v1beta1'): Kind =>
  all.find((each) => each.kind === name && each.version === version) ?? assert.fail(name);
const [claim, template, deviceClass, slice] = [
  ...[kindOf('ResourceClaim'), kindOf('ResourceClaimTemplate'), kindOf('DeviceClass'), kindOf('ResourceSlice')],
] as const;
assert.ok(claim && template && deviceClass && slice);

const request = { name: 'r', deviceClassName: 'c' };
const cel = (expression: string): Sent => ({ selectors: [{ cel: { expression } }] });
const devices = (more: Sent = {}, others: Sent = {}): Sent => ({ requests: [{ ...request, ...more }], ...others });
const label = 'a lowercase RFC 1123 label must consist of';
const subdomain = 'a lowercase RFC 1123 subdomain must consist of';
const identifier = "a valid C identifier must start with alphabetic character or '_'";
const many = (count: number, make: (index: number) => unknown): readonly unknown[] =>
  Array.from({ length: count }, (_, index) => make(index));
const opaque = { driver: 'd', parameters: { a: 1 } };

/** Errors are known by their beginning. */
type Row = readonly [what: string, sent: Sent, errors: readonly string[]];

function same(found: readonly string[], errors: readonly string[]): void {
  assert.deepEqual(
    found.map((error, index) => error.slice(0, errors[index]?.length)),
    errors,
    found.join('\n'),
  );
}

const claims: readonly Row[] = [
  ['nothing', {}, []],
  ['a request', devices(), []],
  ['a bad name', devices({ name: 'R_' }), [`requests[0].name: Invalid value: "R_": ${label}`]],
  ['no class', devices({ deviceClassName: '' }), ['requests[0].deviceClassName: Required value']],
  ['a bad class', devices({ deviceClassName: 'C' }), [`requests[0].deviceClassName: Invalid value: "C": ${subdomain}`]],
  [
    'an unknown mode',
    devices({ allocationMode: 'Some' }),
    ['requests[0].allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"'],
  ],
  [
    'a count of all',
    devices({ allocationMode: 'All', count: 2 }),
    ["requests[0].count: Invalid value: 2: must not be specified when allocationMode is 'All'"],
  ],
  ['a negative count', devices({ count: -1 }), ['requests[0].count: Invalid value: -1: must be greater than zero']],
  ['two requests of a name', { requests: [request, request] }, ['requests[1].name: Duplicate value: "r"']],
  [
    'too many requests',
    { requests: many(33, (index) => ({ ...request, name: `r${index}` })) },
    ['requests: Too many: 33: must have at most 32 items'],
  ],
  ['a selector of nothing', devices({ selectors: [{}] }), ['requests[0].selectors[0].cel: Required value']],
  [
    'an expression that is too long',
    devices(cel(`"${'x'.repeat(10240)}" == ""`)),
    ['requests[0].selectors[0].cel.expression: Too long: may not be more than 10240 bytes'],
  ],
  [
    'an expression of no truth',
    devices(cel('1')),
    ['requests[0].selectors[0].cel.expression: Invalid value: "1": must evaluate to bool or the unknown type, not int'],
  ],
  [
    'an expression of nothing known',
    devices(cel('other')),
    [
      'requests[0].selectors[0].cel.expression: Invalid value: "other": compilation failed: ERROR: <input>:1:1: undeclared reference to \'other\'',
    ],
  ],
  [
    'an expression of no field',
    devices(cel('device.name == ""')),
    [
      'requests[0].selectors[0].cel.expression: Invalid value: "device.name == \\"\\"": compilation failed: ERROR: <input>:1:7: undefined field \'name\'',
    ],
  ],
  [
    'a costly expression',
    devices(
      cel(
        'device.attributes["d"].all(a, device.attributes["d"].all(b, device.attributes["d"].all(c, device.attributes["d"].all(d, a + b == c + d))))',
      ),
    ),
    ['requests[0].selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit'],
  ],
  ['attributes', devices(cel('device.driver == "d" && device.attributes["d"].model == "m"')), []],
  [
    'versions and amounts',
    devices(
      cel(
        'device.attributes["d"].v.isLessThan(semver("2.0.0")) && device.capacity["d"].memory.isGreaterThan(quantity("1Gi"))',
      ),
    ),
    [],
  ],
  ['a constraint of nothing', devices({}, { constraints: [{}] }), ['constraints[0].matchAttribute: Required value']],
  [
    'a constraint without a domain',
    devices({}, { constraints: [{ matchAttribute: 'a' }] }),
    ['constraints[0].matchAttribute: Invalid value: "a": must include a domain'],
  ],
  [
    'a constraint of others',
    devices({}, { constraints: [{ matchAttribute: 'a.b/c-', requests: ['s', 'r', 'r'] }] }),
    [
      'constraints[0].requests[0]: Invalid value: "s": must be the name of a request in the claim',
      'constraints[0].requests[2]: Duplicate value: "r"',
      `constraints[0].matchAttribute: Invalid value: "c-": ${identifier}`,
    ],
  ],
  ['a configuration of nothing', devices({}, { config: [{}] }), ['config[0].opaque: Required value']],
  [
    'a configuration without a driver',
    devices({}, { config: [{ opaque: { driver: '', parameters: {} } }] }),
    ['config[0].opaque.driver: Required value', `config[0].opaque.driver: Invalid value: "": ${subdomain}`],
  ],
  ['a configuration', devices({}, { config: [{ requests: ['r'], opaque }] }), []],
  [
    'too large parameters',
    devices({}, { config: [{ opaque: { driver: 'd', parameters: { a: 'x'.repeat(10240) } } }] }),
    ['config[0].opaque.parameters: Too long: may not be more than 10240 bytes'],
  ],
];

for (const [what, sent, errors] of claims) {
  test(`ResourceClaim with ${what}`, async () => {
    same(
      (await createLater(claim, { spec: { devices: sent } })).errors,
      errors.map((error) => `spec.devices.${error}`),
    );
    const inTemplate = await createLater(template, { spec: { spec: { devices: sent } } });
    same(
      inTemplate.errors,
      errors.map((error) => `spec.spec.devices.${error}`),
    );
  });
}

test('ResourceClaim: defaults', async () => {
  const { object } = await createLater(claim, {
    spec: { devices: { requests: [request, { ...request, name: 'all', allocationMode: 'All' }] } },
  });
  assert.deepEqual(JSON.parse(JSON.stringify(object['spec'])), {
    devices: {
      requests: [
        { ...request, allocationMode: 'ExactCount', count: 1 },
        { ...request, name: 'all', allocationMode: 'All' },
      ],
    },
  });
});

test('ResourceClaim, ResourceClaimTemplate: specs never change', async () => {
  const [old, sent] = [{ devices: devices() }, { devices: devices({ count: 2 }) }];
  const stored = (await createLater(claim, { spec: old })).object;
  same((await updateLater(claim, stored, { spec: sent })).errors, [
    'spec: Invalid value: resource.ResourceClaimSpec{Devices:resource.DeviceClaim{Requests:[]resource.DeviceRequest{',
  ]);
  assert.deepEqual((await updateLater(claim, stored, { spec: old })).errors, []);
  const made = (await createLater(template, { spec: { spec: old } })).object;
  same((await updateLater(template, made, { spec: { spec: sent } })).errors, [
    'spec: Invalid value: resource.ResourceClaimTemplateSpec{ObjectMeta:v1.ObjectMeta{Name:"", ',
  ]);
});

test('ResourceClaimTemplate: metadata has labels and annotations alone', async () => {
  const metadata = { labels: { 'a b': '' }, annotations: { a: 'b' }, name: 'x', finalizers: ['a.b/c'] };
  same((await createLater(template, { spec: { metadata, spec: {} } })).errors, [
    'spec.metadata.labels: Invalid value: "a b": name part must consist of',
    'spec.metadata.name: Forbidden: cannot be set',
    'spec.metadata.finalizers: Forbidden: cannot be set',
  ]);
});

test('DeviceClass: what does not change is not compiled again', async () => {
  const wrong = { spec: cel('device.name') };
  same((await createLater(deviceClass, wrong)).errors, ['spec.selectors[0].cel.expression: Invalid value']);
  const stored = read(deviceClass, wrong);
  assert.deepEqual((await updateLater(deviceClass, stored, { metadata: { labels: { a: 'b' } }, ...wrong })).errors, []);
  same((await updateLater(deviceClass, stored, { spec: cel('device.model') })).errors, [
    'spec.selectors[0].cel.expression: Invalid value',
  ]);
  const large = { spec: { config: [{ opaque: { driver: 'd', parameters: { a: 'x'.repeat(10240) } } }] } };
  same((await createLater(deviceClass, large)).errors, ['spec.config[0].opaque.parameters: Too long']);
  assert.deepEqual((await updateLater(deviceClass, read(deviceClass, large), large)).errors, []);
});

const result = { request: 'r', driver: 'd', pool: 'p', device: 'a' };
const allocation = { devices: { results: [result] } };
const user = { resource: 'pods', name: 'p', uid: 'u' };
const allocated = { driver: 'd', pool: 'p', device: 'a' };
const at = '2026-01-02T03:04:05Z';

const statuses: readonly (readonly [...Row, old?: Sent])[] = [
  ['an allocation and a user', { allocation, reservedFor: [user], devices: [{ ...allocated, data: { a: 1 } }] }, []],
  [
    'a user without an allocation',
    { reservedFor: [user] },
    ['reservedFor: Forbidden: may not be specified when `allocated` is not set'],
  ],
  [
    'a user of nothing',
    { allocation, reservedFor: [{ resource: '', name: '', uid: '' }] },
    [
      'reservedFor[0].resource: Required value',
      'reservedFor[0].name: Required value',
      'reservedFor[0].uid: Required value',
    ],
  ],
  [
    'a user twice',
    { allocation, reservedFor: [user, { ...user, name: 'q' }] },
    ['reservedFor[1].uid: Duplicate value: "u"'],
  ],
  [
    'too many users',
    { allocation, reservedFor: many(257, (index) => ({ ...user, uid: `u${index}` })) },
    ['reservedFor: Too many: 257: must have at most 256 items'],
  ],
  [
    'another allocation',
    { allocation: { devices: { results: [{ ...result, device: 'b' }] } } },
    ['allocation: Invalid value: {"devices":{"results":[{"request":"r"'],
    { allocation },
  ],
  ['no allocation any more', {}, [], { allocation }],
  [
    'a result of nothing',
    {
      allocation: {
        devices: {
          results: [{ request: 's', driver: '', pool: '', device: 'A' }],
          config: [{ source: '', requests: ['s'] }],
        },
      },
    },
    [
      'allocation.devices.results[0].request: Invalid value: "s": must be the name of a request in the claim',
      'allocation.devices.results[0].driver: Required value',
      `allocation.devices.results[0].driver: Invalid value: "": ${subdomain}`,
      'allocation.devices.results[0].pool: Required value',
      `allocation.devices.results[0].device: Invalid value: "A": ${label}`,
      'allocation.devices.config[0].source: Required value',
      'allocation.devices.config[0].requests[0]: Invalid value: "s": must be the name of a request in the claim',
      'allocation.devices.config[0].opaque: Required value',
    ],
  ],
  [
    'an unknown source',
    { allocation: { devices: { config: [{ source: 'Else', opaque }] } } },
    ['allocation.devices.config[0].source: Unsupported value: "Else": supported values: "FromClaim", "FromClass"'],
  ],
  [
    'a device of others',
    {
      allocation,
      devices: [
        allocated,
        {
          ...{
            ...allocated,
            device: 'b',
            networkData: { interfaceName: 'x'.repeat(257), hardwareAddress: 'x'.repeat(129), ips: ['1'] },
          },
          conditions: many(9, (index) => ({
            type: `T${index}`,
            status: 'True',
            reason: 'R',
            message: '',
            lastTransitionTime: at,
          })),
        },
        allocated,
      ],
    },
    [
      'devices[1]: Invalid value: "d/p/b": must be an allocated device in the claim',
      'devices[1].conditions: Too many: 9: must have at most 8 items',
      'devices[1].networkData.interfaceName: Too long: may not be more than 256 bytes',
      'devices[1].networkData.hardwareAddress: Too long: may not be more than 128 bytes',
      'devices[1].networkData.ips[0]: Invalid value: "1": must be a valid CIDR value',
      'devices[2].deviceID: Duplicate value: "d/p/a"',
    ],
  ],
];

for (const [what, status, errors, old = {}] of statuses) {
  test(`ResourceClaim: a status with ${what} is ${errors.length > 0 ? 'refused' : 'accepted'}`, async () => {
    const stored = { ...(await createLater(claim, { spec: { devices: devices() } })).object, status: old } as ApiObject;
    const { object, errors: found } = update(claim, stored, { spec: { devices: devices() }, status }, 'status');
    same(
      found,
      errors.map((error) => `status.${error}`),
    );
    assert.deepEqual(object['spec'], stored['spec']);
  });
}

test('ResourceClaim: what is told of a device goes with its allocation; nobody new uses what is deleted', async () => {
  const { object } = await createLater(claim, { spec: { devices: devices() } });
  const stored = { ...object, status: { allocation, devices: [allocated], reservedFor: [user] } } as ApiObject;
  const freed = update(claim, stored, { spec: { devices: devices() }, status: { devices: [allocated] } }, 'status');
  assert.deepEqual([freed.object['status'], freed.errors], [{}, []]);
  const deleted = { ...stored, metadata: { ...stored.metadata, deletionTimestamp: at } } as ApiObject;
  const reservedFor = [user, { ...user, uid: 'v' }];
  same(update(claim, deleted, { spec: { devices: devices() }, status: { allocation, reservedFor } }, 'status').errors, [
    'status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
  ]);
});

const valid = { driver: 'd', nodeName: 'n', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } };
const device = (basic: Sent, name = 'a'): Sent => ({ devices: [{ name, basic }] });
const attributes = 'spec.devices[0].basic.attributes';
const term = { matchExpressions: [{ key: 'a', operator: 'Exists' }] };
const nodes = 'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required';

const slices: readonly Row[] = [
  ['no devices', {}, []],
  [
    'a device',
    device({
      attributes: { model: { string: 'm' }, 'a.b/v': { version: '1.2.3-rc.1+b' } },
      capacity: { memory: { value: '1Gi' } },
    }),
    [],
  ],
  ['a pool in parts', { pool: { ...valid.pool, name: 'a/b' } }, []],
  ['no driver', { driver: '' }, ['spec.driver: Required value', `spec.driver: Invalid value: "": ${subdomain}`]],
  [
    'a bad pool',
    { pool: { name: 'a//B', generation: -1, resourceSliceCount: 0 } },
    [
      `spec.pool.name: Invalid value: "": ${subdomain}`,
      `spec.pool.name: Invalid value: "B": ${subdomain}`,
      'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
      'spec.pool.generation: Invalid value: -1: must be greater than or equal to zero',
    ],
  ],
  ['no node', { nodeName: '' }, [`spec: Required value: ${nodes}`]],
  ['a node and all', { allNodes: true }, [`spec: Invalid value: "null": ${nodes}`]],
  ['a bad node', { nodeName: 'N' }, [`spec.nodeName: Invalid value: "N": ${subdomain}`]],
  [
    'two terms',
    { nodeName: '', nodeSelector: { nodeSelectorTerms: [term, term] } },
    ['spec.nodeSelector.nodeSelectorTerms: Invalid value: [{"matchExpressions"'],
  ],
  [
    'a device without anything',
    { devices: [{ name: 'A' }] },
    [`spec.devices[0].name: Invalid value: "A": ${label}`, 'spec.devices[0].basic: Required value'],
  ],
  [
    'two devices of a name',
    {
      devices: [
        { name: 'a', basic: {} },
        { name: 'a', basic: {} },
      ],
    },
    ['spec.devices[1].name: Duplicate value: "a"'],
  ],
  [
    'too many devices',
    { devices: many(129, (index) => ({ name: `d${index}`, basic: {} })) },
    ['spec.devices: Too many: 129: must have at most 128 items'],
  ],
  [
    'an attribute of nothing',
    device({ attributes: { a: {} } }),
    [`${attributes}[a]: Required value: exactly one value must be specified`],
  ],
  [
    'an attribute of two values',
    device({ attributes: { a: { int: 0, bool: false } } }),
    [`${attributes}[a]: Invalid value: {"int":0,"bool":false}: exactly one value must be specified`],
  ],
  [
    'a bad version',
    device({ attributes: { a: { version: 'v1' } } }),
    [`${attributes}[a].version: Invalid value: "v1": must be a string compatible with semver.org spec 2.0.0`],
  ],
  [
    'a long text',
    device({ attributes: { a: { string: 'x'.repeat(65) } } }),
    [`${attributes}[a].string: Too long: may not be more than 64 bytes`],
  ],
  [
    'a name of nothing',
    device({ attributes: { '/': { int: 1 } } }),
    [
      `${attributes}[/]: Required value: the domain must not be empty`,
      `${attributes}[/]: Required value: the name must not be empty`,
    ],
  ],
  [
    'a bad name',
    device({ capacity: { 'a-b': { value: '1' } } }),
    [`spec.devices[0].basic.capacity[a-b]: Invalid value: "a-b": ${identifier}`],
  ],
  [
    'a long name',
    device({ capacity: { ['x'.repeat(97)]: { value: '1' } } }),
    [`spec.devices[0].basic.capacity[${'x'.repeat(47)}...${'x'.repeat(46)}]: Too long: may not be more than 32 bytes`],
  ],
  [
    'too many properties',
    device({ capacity: Object.fromEntries(many(33, (index) => [`c${index}`, { value: '1' }]) as [string, Sent][]) }),
    ['spec.devices[0].basic: Invalid value: 33: the total number of attributes and capacities must not exceed 32'],
  ],
];

for (const [what, sent, errors] of slices) {
  test(`ResourceSlice with ${what}`, async () => {
    same((await createLater(slice, { spec: { ...valid, ...sent } })).errors, errors);
  });
}

test('ResourceSlice: driver, pool and node stay', async () => {
  const stored = (await createLater(slice, { spec: valid })).object;
  const sent = { driver: 'e', nodeName: 'm', pool: { ...valid.pool, name: 'q', generation: 2 } };
  same((await updateLater(slice, stored, { spec: sent })).errors, [
    'spec.pool.name: Invalid value: "q": field is immutable',
    'spec.driver: Invalid value: "e": field is immutable',
    'spec.nodeName: Invalid value: "m": field is immutable',
  ]);
});

test('resource kinds: columns', () => {
  const state = (status: Sent, metadata: Sent = {}) => row(claim, { metadata, spec: {}, status })['State'];
  assert.deepEqual(
    [
      state({}),
      state({ allocation }),
      state({ allocation, reservedFor: [user] }),
      state({}, { deletionTimestamp: at }),
    ],
    ['pending', 'allocated', 'allocated,reserved', 'deleted'],
  );
  assert.deepEqual(row(slice, { spec: valid }), { Name: 'one', Node: 'n', Driver: 'd', Pool: 'p', Age: '<unknown>' });
});

test('ResourceSlice: an amount is all of a capacity in the alpha version, and comes back', () => {
  const alpha = kindOf('ResourceSlice', 'v1alpha3');
  const spec = (capacity: Sent): Sent => ({
    spec: { ...valid, ...device({ capacity, attributes: { a: { int: 1 } } }) },
  });
  const [beta, older] = [read(slice, spec({ m: { value: '1Gi' } })), read(alpha, spec({ m: '1Gi' }))];
  const { storedAs } = alpha;
  assert.ok(storedAs);
  assert.deepEqual(JSON.parse(JSON.stringify(storedAs.fromStored(beta))), JSON.parse(JSON.stringify(older)));
  assert.deepEqual(JSON.parse(JSON.stringify(storedAs.toStored(older))), JSON.parse(JSON.stringify(beta)));
  for (const part of [
    { metadata: {} },
    { metadata: {}, spec: {} },
    { metadata: {}, spec: { devices: [{ name: 'a' }] } },
  ]) {
    const object = { apiVersion: 'resource.orch.io/v1beta1', kind: 'ResourceSlice', ...part } as ApiObject;
    assert.deepEqual(storedAs.toStored(storedAs.fromStored(object)), object);
  }
});
