import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid, required } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { always, type Infer, int32, microTime, opt, ptr, string, struct, time } from '../../schema/schema.ts';
import { age, column, wide } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { objectMeta } from '../meta/object-meta.ts';
import { typed } from '../typed.ts';
import { objectReference } from './references.ts';

export const eventSource = struct('api.core.v1.EventSource', 'Who reported an event, in its older form.', {
  component: opt(1, string(), 'Component that reported it.'),
  host: opt(2, string(), 'Node on which it was reported.'),
});

const eventSeries = struct('api.core.v1.EventSeries', 'Events of one sort that came one after the other.', {
  count: opt(1, int32(), 'How many there were up to the last one seen.'),
  lastObservedTime: always(2, microTime(), 'When the last one was seen.'),
});

const schema = kindSchema('api.core.v1.Event', 'Something that happened to an object, kept for a while as a help to people.', {
  metadata: always(1, objectMeta, 'Name, labels and all else that every object carries.', { documented: 'required' }),
  involvedObject: always(2, objectReference, 'The object that it is about.', { documented: 'required' }),
  reason: opt(3, string(), 'Machine-readable reason, in CamelCase.'),
  message: opt(4, string(), 'What happened, in words.'),
  source: always(5, eventSource, 'Who reported it.'),
  firstTimestamp: always(6, time(), 'When it was first seen.'),
  lastTimestamp: always(7, time(), 'When it was last seen.'),
  count: opt(8, int32(), 'How often it was seen.'),
  type: opt(9, string(), '`Normal` or `Warning`; others may come.'),
  eventTime: always(10, microTime(), 'When it was first seen, for events of the newer form.'),
  series: ptr(11, eventSeries, 'The series that it stands for; absent for a single event.'),
  action: opt(12, string(), 'What was done, or failed, with the object.'),
  related: ptr(13, objectReference, 'A second object that it is about.'),
  reportingComponent: always(14, string(), 'Controller that reported it, as a qualified name.', { documented: 'optional' }),
  reportingInstance: always(15, string(), 'Instance of that controller.', { documented: 'optional' }),
});

type Event = Infer<typeof schema>;

const shortTextBytesMax = 128;
const messageBytesMax = 1024;

/** Rules of every client. Events of the newer form have an eventTime. */
const validate = (event: Event, dialect: Dialect): FieldError[] => (event.eventTime ? validateNewForm(event, dialect) : validateOldForm(event));

/** As in kube-apiserver, the stricter rules of the events group apply only to its clients; the core rules apply to all. */
const isStrict = ({ dialect, requested }: StrategyContext): boolean => requested.group === dialect.group('events');

function validateCreate(object: ApiObject, context: StrategyContext): FieldError[] {
  const event = typed(schema, object);
  const errors = validate(event, context.dialect);
  return isStrict(context) ? [...errors, ...validateStrictly(event)] : errors;
}

function validateStrictly(event: Event): FieldError[] {
  const errors = validateSeries(event);
  if (!event.eventTime) errors.push(required('eventTime'));
  if (event.type !== 'Normal' && event.type !== 'Warning') {
    errors.push(invalid('type', '', `has invalid value: ${event.type ?? ''}`));
  }
  const { firstTimestamp, lastTimestamp, count, source = {} } = event;
  const older = { firstTimestamp, lastTimestamp, count, source: source.component || source.host };
  for (const [field, value] of Object.entries(older)) if (value) errors.push(invalid(field, '', 'needs to be unset'));
  return errors;
}

function validateSeries({ series }: Event): FieldError[] {
  if (!series) return [];
  const errors: FieldError[] = [];
  if ((series.count ?? 0) < 2) errors.push(invalid('series.count', '', 'should be at least 2'));
  if (!series.lastObservedTime) errors.push(required('series.lastObservedTime'));
  return errors;
}

/** Through the events group, only the series of an event may change, besides metadata. */
const immutableFields = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
] as const;

function validateUpdate(object: ApiObject, old: ApiObject, context: StrategyContext): FieldError[] {
  const [event, before] = [typed(schema, object), typed(schema, old)];
  const errors = validate(event, context.dialect);
  if (!isStrict(context)) return errors;
  if (!equalValues(event.series, before.series)) errors.push(...validateSeries(event));
  for (const field of immutableFields) {
    if (!equalValues(event[field], before[field])) errors.push(invalid(field, event[field], 'field is immutable'));
  }
  return errors;
}

const wrongNamespace = (event: Event): FieldError => invalid('involvedObject.namespace', event.involvedObject?.namespace ?? '', 'does not match event.namespace');

function validateOldForm(event: Event): FieldError[] {
  const namespace = event.metadata?.namespace ?? '';
  const involved = event.involvedObject?.namespace || 'default';
  return namespace === involved || namespace === '' ? [] : [wrongNamespace(event)];
}

function validateNewForm(event: Event, dialect: Dialect): FieldError[] {
  const errors: FieldError[] = [];
  const namespace = event.metadata?.namespace ?? '';
  if (!event.involvedObject?.namespace && namespace !== 'default' && namespace !== dialect.namespaces.system) {
    errors.push(wrongNamespace(event));
  }
  const controller = event.reportingComponent ?? '';
  if (controller === '') errors.push(required('reportingComponent'));
  errors.push(...isQualifiedName(controller).map((problem) => invalid('reportingComponent', controller, problem)));
  for (const field of ['reportingInstance', 'action', 'reason'] as const) {
    if (!event[field]) errors.push(required(field));
    errors.push(...validateLength(field, event[field], shortTextBytesMax));
  }
  errors.push(...validateLength('message', event.message, messageBytesMax));
  return errors;
}

const validateLength = (field: string, value = '', bytesMax: number): FieldError[] => (Buffer.byteLength(value) > bytesMax ? [invalid(field, '', `can have at most ${bytesMax} characters`)] : []);

/** Age of the latest occurrence: of the series, else of lastTimestamp, else the first occurrence. */
const lastSeen = (event: Event, now: number): string => (event.series ? age(event.series.lastObservedTime, now) : event.lastTimestamp ? age(event.lastTimestamp, now) : firstSeen(event, now));

const firstSeen = (event: Event, now: number): string => age(event.firstTimestamp || event.eventTime, now);

/** An event with neither series nor count (the newer form, single occurrence) counts as 1. */
const countOf = (event: Event): number => event.series?.count ?? (event.series ? 0 : event.count || 1);

function target({ involvedObject }: Event): string {
  const kind = (involvedObject?.kind ?? '').toLowerCase();
  return involvedObject?.name ? `${kind}/${involvedObject.name}` : kind;
}

function sourceOf(event: Event): string {
  const component = event.source?.component || event.reportingComponent || '';
  const instance = event.source?.host || event.reportingInstance || '';
  return instance === '' ? component : `${component}, ${instance}`;
}

const cell = (value: (event: Event, now: number) => string | number) => (object: ApiObject, now: number) => value(typed(schema, object), now);

const columns = [
  column('Last Seen', 'Time since it was last seen.', cell(lastSeen)),
  column('Type', 'Normal or Warning.', '.type'),
  column('Reason', 'Machine-readable reason.', '.reason'),
  column('Object', 'The object that it is about.', cell(target)),
  column('Subobject', 'The part of the object that it is about.', '.involvedObject.fieldPath', wide),
  column('Source', 'Who reported it.', cell(sourceOf), wide),
  column(
    'Message',
    'What happened.',
    cell(({ message = '' }) => message.trim()),
  ),
  column('First Seen', 'Time since it was first seen.', cell(firstSeen), wide),
  column('Count', 'How often it was seen.', cell(countOf), wide),
  column('Name', 'Name of the event.', '.metadata.name', { ...wide, format: 'name' }),
];

/**
 * Event of the core group. As in kube-apiserver, names may be any path segment: recorders append a timestamp to the name of
 * the object, which need not be a DNS name.
 */
export const event = (_dialect: Dialect): Kind =>
  defineKind({
    kind: 'Event',
    shortNames: ['ev'],
    schema,
    nameFormat: 'pathSegment',
    selectableFields: [
      selectable('involvedObject.kind'),
      selectable('involvedObject.namespace'),
      selectable('involvedObject.name'),
      selectable('involvedObject.uid', { indexed: true }),
      selectable('involvedObject.apiVersion'),
      selectable('involvedObject.resourceVersion'),
      selectable('involvedObject.fieldPath'),
      selectable('reason'),
      selectable('reportingComponent'),
      selectable('source', { at: ['source.component', 'reportingComponent'] }),
      selectable('type'),
    ],
    columns,
    strategy: { validateCreate, validateUpdate },
    createOnUpdate: true,
    timeToLive: 'event',
    decidesNothing: true,
    ownsNothing: true,
  });
