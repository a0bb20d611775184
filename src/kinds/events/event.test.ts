import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { describeFieldError } from '../../meta/field-error.ts';
import { anonymousUser } from '../../request/user-info.ts';
import { decode } from '../../schema/decode.ts';
import { event } from '../core/event.ts';
import type { Kind } from '../kind.ts';
import { apiVersionOf, canonical } from '../stored-as.ts';
import { immediate } from '../strategy-fixture.ts';
import type { Validation } from '../validation.ts';
import { eventsEvent } from './event.ts';

const core = event(orch);
const kind = eventsEvent(orch, core);
const { storedAs } = kind;
assert.ok(storedAs);

const decoded = (of: Kind, value: object): ApiObject =>
  decode(of.schema, { kind: of.kind, apiVersion: apiVersionOf(of), ...value }).value as unknown as ApiObject;

const text = fc.string({ maxLength: 5 });
const time = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
const reference = fc.record(
  { kind: text, name: text, namespace: text, uid: text, fieldPath: text },
  { requiredKeys: [] },
);
const series = fc.record({ count: fc.integer({ min: 0, max: 9 }), lastObservedTime: time }, { requiredKeys: [] });
const source = fc.record({ component: text, host: text }, { requiredKeys: [] });
const metadata = fc.record({
  name: fc.constant('one'),
  namespace: fc.constant('default'),
  labels: fc.dictionary(text, text),
});
const count = fc.integer({ min: 0, max: 9 });
const shared = { metadata, series, action: text, reason: text, type: text, reportingInstance: text, eventTime: time };
const coreFields = {
  ...{ ...shared, involvedObject: reference, related: reference, message: text, source, reportingComponent: text },
  ...{ count, firstTimestamp: time, lastTimestamp: time },
};
const eventsFields = {
  ...{ ...shared, regarding: reference, related: reference, note: text, reportingController: text },
  ...{
    deprecatedSource: source,
    deprecatedCount: count,
    deprecatedFirstTimestamp: time,
    deprecatedLastTimestamp: time,
  },
};

test('Event: stored objects survive a round trip through the other version', () => {
  const sent = fc.record(coreFields, { requiredKeys: ['metadata'] });
  fc.assert(
    fc.property(sent, (value) => {
      const stored = decoded(core, value);
      const shown = canonical(kind, storedAs.fromStored(stored));
      assert.equal(shown.apiVersion, 'events.orch.io/v1');
      assert.deepEqual(decoded(kind, shown), shown, 'it is in the form of its version');
      assert.equal(JSON.stringify(canonical(core, storedAs.toStored(shown))), JSON.stringify(stored));
    }),
  );
});

test('Event: objects of the events group survive a round trip through the stored form', () => {
  const sent = fc.record(eventsFields, { requiredKeys: ['metadata'] });
  fc.assert(
    fc.property(sent, (value) => {
      const object = decoded(kind, value);
      const stored = canonical(core, storedAs.toStored(object));
      assert.equal(stored.apiVersion, 'v1');
      assert.equal(JSON.stringify(canonical(kind, storedAs.fromStored(stored))), JSON.stringify(object));
    }),
  );
});

test('Event: every field has a counterpart in the other version', () => {
  const here = Object.keys(kind.schema.fields).map((field) => storedAs.versionPath(storedAs.storedLabel(field)));
  assert.deepEqual(here, Object.keys(kind.schema.fields));
  assert.deepEqual(
    Object.keys(kind.schema.fields).map(storedAs.storedLabel).sort(),
    Object.keys(core.schema.fields).sort(),
  );
  // The source is selected in the core group alone.
  const labels = core.selectableFields.map(({ label }) => label).filter((label) => label !== 'source');
  assert.deepEqual(kind.selectableFields.map(({ label }) => storedAs.storedLabel(label)).sort(), labels.sort());
});

const context = (requested: Kind) => ({ dialect: orch, user: anonymousUser, now: 0, requested });
const texts = (errors: Validation) => immediate(errors).map((error) => `${error.field}: ${describeFieldError(error)}`);

const valid = {
  metadata: { name: 'one', namespace: 'default' },
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'x.io/a',
  reportingInstance: 'a-1',
  action: 'Do',
  reason: 'Why',
  type: 'Normal',
};

const rows: { why: string; sent: object; errors: string[] }[] = [
  { why: 'all that is required', sent: {}, errors: [] },
  { why: 'no time', sent: { eventTime: undefined }, errors: ['eventTime: Required value'] },
  { why: 'another type', sent: { type: 'Other' }, errors: ['type: Invalid value: "": has invalid value: Other'] },
  {
    why: 'fields of the older form',
    sent: {
      deprecatedFirstTimestamp: '2026-01-01T00:00:00Z',
      deprecatedLastTimestamp: '2026-01-01T00:00:00Z',
      deprecatedCount: 1,
      deprecatedSource: { host: 'a' },
    },
    errors: ['firstTimestamp', 'lastTimestamp', 'count', 'source'].map(
      (field) => `${field}: Invalid value: "": needs to be unset`,
    ),
  },
  {
    why: 'a series of one',
    sent: { series: { count: 1 } },
    errors: ['series.count: Invalid value: "": should be at least 2', 'series.lastObservedTime: Required value'],
  },
  {
    why: 'a note of more than 1 KiB',
    sent: { note: 'n'.repeat(1025) },
    errors: ['message: Invalid value: "": can have at most 1024 characters'],
  },
];

for (const { why, sent, errors } of rows) {
  test(`Event of the events group: ${why}`, () => {
    const object = storedAs.toStored(decoded(kind, { ...valid, ...sent }));
    const found = texts(kind.strategy.validateCreate?.(object, context(kind)) ?? []);
    assert.deepEqual(
      found.map((error, index) => (errors[index]?.includes(' ') ? error : error.split(':')[0])),
      errors,
    );
    const lenient = texts(kind.strategy.validateCreate?.(object, context(core)) ?? []);
    assert.deepEqual(
      lenient,
      found.filter((error) => error.includes('at most')),
      'clients of the core group are held to the older rules only',
    );
  });
}

test('Event of the events group: only its series may change', () => {
  const old = storedAs.toStored(decoded(kind, valid));
  const update = (sent: object, requested: Kind) =>
    texts(
      kind.strategy.validateUpdate?.(
        storedAs.toStored(decoded(kind, { ...valid, ...sent })),
        old,
        context(requested),
      ) ?? [],
    ).map((error) => error.split(':')[0]);
  assert.deepEqual(update({ series: { count: 2, lastObservedTime: valid.eventTime } }, kind), []);
  assert.deepEqual(update({ series: { count: 1, lastObservedTime: valid.eventTime } }, kind), ['series.count']);
  assert.deepEqual(update({ metadata: { ...valid.metadata, labels: { a: 'b' } } }, kind), []);
  for (const [field, value] of Object.entries({
    ...{
      regarding: { name: 'a', namespace: 'default' },
      related: { name: 'a' },
      note: 'n',
      type: 'Warning',
      action: 'A',
    },
    ...{ reason: 'R', reportingController: 'b', reportingInstance: 'b', eventTime: '2026-01-02T00:00:00.000000Z' },
    ...{ deprecatedCount: 1, deprecatedSource: { host: 'h' }, deprecatedFirstTimestamp: '2026-01-02T00:00:00Z' },
    deprecatedLastTimestamp: '2026-01-02T00:00:00Z',
  })) {
    assert.deepEqual(update({ [field]: value }, kind), [storedAs.storedLabel(field)]);
    assert.deepEqual(update({ [field]: value }, core), []);
  }
});
