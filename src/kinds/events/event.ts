import { cellOf } from '../../codec/table.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { always, int32, microTime, opt, ptr, string, struct, time } from '../../schema/schema.ts';
import { eventSource } from '../core/event.ts';
import { objectReference } from '../core/references.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { renamedFields } from '../stored-as.ts';

const eventSeries = struct('api.events.v1.EventSeries', 'Events of one sort that came one after the other.', {
  count: always(1, int32(), 'How many there were up to the last one seen; at least 2.'),
  lastObservedTime: always(2, microTime(), 'When the last one was seen.', { documented: 'required' }),
});

const schema = kindSchema('api.events.v1.Event', 'Something that happened to an object, kept for a while as a help to people.', {
  eventTime: always(2, microTime(), 'When it was first seen. Required.', { documented: 'required' }),
  series: ptr(3, eventSeries, 'The series that it stands for; absent for a single event.'),
  reportingController: opt(4, string(), 'Controller that reported it, as a qualified name.'),
  reportingInstance: opt(5, string(), 'Instance of that controller; at most 128 bytes.'),
  action: opt(6, string(), 'What was done, or failed, with the object; at most 128 bytes.'),
  reason: opt(7, string(), 'Machine-readable reason, in CamelCase; at most 128 bytes.'),
  regarding: always(8, objectReference, 'The object that it is about.'),
  related: ptr(9, objectReference, 'A second object that it is about.'),
  note: opt(10, string(), 'What happened, in words; at most 1 KiB.'),
  type: opt(11, string(), '`Normal` or `Warning`.'),
  deprecatedSource: always(12, eventSource, 'Who reported an event of the older form.'),
  deprecatedFirstTimestamp: always(13, time(), 'When an event of the older form was first seen.'),
  deprecatedLastTimestamp: always(14, time(), 'When an event of the older form was last seen.'),
  deprecatedCount: opt(15, int32(), 'How often an event of the older form was seen.'),
});

/** Field names of the events group and their names in the core group. */
const renames = {
  regarding: 'involvedObject',
  note: 'message',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
} as const;

const regardingFields = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

/** Event of the events group: another version of the core group's Event, and stored in its form. */
export function eventsEvent(dialect: Dialect, core: Kind): Kind {
  const name = { group: dialect.group('events'), version: 'v1', kind: core.kind };
  const storedAs = renamedFields(core, name, renames);
  return {
    ...core,
    ...name,
    nameFormat: 'dnsSubdomain',
    finalizersWithoutDomain: 'refused',
    schema,
    storedAs,
    selectableFields: [...regardingFields.map((field) => selectable(`regarding.${field}`)), selectable('reason'), selectable('reportingController'), selectable('type')],
    columns: core.columns.map((column) => ({
      ...column,
      value: (object, now) => cellOf(column.value, storedAs.toStored(object), now),
    })),
  };
}
