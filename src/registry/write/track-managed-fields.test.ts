import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { describePath, type FieldPath, isField, nameOf } from '../../apply/fields/field-path.ts';
import { pathsOf } from '../../apply/fields/field-set.ts';
import { fieldsOf } from '../../apply/fields/fields-of.ts';
import { decodeFields, encodeFields } from '../../apply/fields/fields-v1.ts';
import { objectShapeOf } from '../../apply/fields/shape.ts';
import { decodeOwners, encodeOwners } from '../../apply/managed-fields.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { ApiObject, ManagedFieldsEntry } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import { RegistryFixture } from '../registry-fixture.ts';
import type { PatchFormat } from './patch-formats.ts';

/** Number of write sequences; `OWNERSHIP_SEQUENCES=10000` takes about half a minute. */
const sequences = Number(process.env['OWNERSHIP_SEQUENCES'] ?? 150);

type Fields = Readonly<Record<string, unknown>>;

interface Subject {
  readonly kind: string;
  readonly collection: string;
  /** Fields of the main object and of its status, without apiVersion, kind and metadata. */
  readonly content: fc.Arbitrary<Fields>;
  readonly status?: fc.Arbitrary<Fields>;
  /** Fields that every object of the kind must have. */
  readonly always?: Fields;
}

const optional: { readonly requiredKeys: never[]; readonly noNullPrototype: true } = {
  requiredKeys: [],
  noNullPrototype: true,
};
const text = fc.constantFrom('', 'x', 'y');
const texts = fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor'), text, {
  maxKeys: 2,
  noNullPrototype: true,
});
const labels = fc.dictionary(fc.constantFrom('a', 'example.com/b'), text, { maxKeys: 2, noNullPrototype: true });
const metadata = fc.record(
  {
    labels,
    annotations: texts.map((map) =>
      Object.fromEntries(Object.entries(map).map(([key, value]) => [`example.com/${key.replaceAll('_', '')}`, value])),
    ),
    finalizers: fc.subarray(['example.com/a', 'example.com/b', 'example.com/c']),
    ownerReferences: fc.uniqueArray(
      fc.constantFrom('u1', 'u2').map((uid) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: `of-${uid}`, uid })),
      { maxLength: 2, selector: ({ uid }) => uid },
    ),
  },
  optional,
);

const conditions = fc.uniqueArray(
  fc.record({ type: fc.constantFrom('Ready', 'Slow'), status: fc.constantFrom('True', 'False') }),
  { maxLength: 2, selector: ({ type }) => type },
);

const subjects: readonly Subject[] = [
  {
    kind: 'ConfigMap',
    collection: '/api/v1/namespaces/n/configmaps',
    content: fc.record({ metadata, data: texts, immutable: fc.constant(false) }, optional),
  },
  {
    kind: 'Pod',
    collection: '/api/v1/namespaces/n/pods',
    content: fc.record({ metadata }, optional),
    status: fc.record({ message: text, conditions, phase: fc.constantFrom('Pending', 'Running') }, optional),
    always: {
      spec: {
        containers: [
          { name: 'c', image: 'i:1', ports: [{ containerPort: 80 }, { containerPort: 80, protocol: 'UDP' }] },
        ],
      },
    },
  },
  {
    kind: 'Node',
    collection: '/api/v1/nodes',
    content: fc.record(
      {
        metadata,
        spec: fc.record(
          {
            unschedulable: fc.boolean(),
            taints: fc.uniqueArray(fc.record({ key: fc.constantFrom('k', 'l'), effect: fc.constant('NoSchedule') }), {
              maxLength: 2,
              selector: ({ key }) => key,
            }),
          },
          optional,
        ),
      },
      optional,
    ),
    status: fc.record(
      {
        conditions,
        phase: fc.constantFrom('Pending', 'Running'),
        capacity: fc.constantFrom({ cpu: '1' }, { cpu: '2' }),
      },
      optional,
    ),
  },
];

const manager = fc.constantFrom('a', 'b', 'c');

type Write =
  | {
      readonly type: 'apply';
      readonly manager: string;
      readonly fields: Fields;
      readonly force: boolean;
      readonly door: string;
    }
  | { readonly type: 'update'; readonly manager: string; readonly fields: Fields; readonly door: string }
  | {
      readonly type: PatchFormat & ('merge' | 'strategic');
      readonly manager: string;
      readonly fields: Fields;
      readonly door: string;
    }
  | { readonly type: 'json'; readonly manager: string; readonly name: string; readonly value: string | undefined }
  | { readonly type: 'reset'; readonly manager: string }
  | { readonly type: 'remove' };

function writesOf({ content, status }: Subject): fc.Arbitrary<readonly Write[]> {
  const doors = status
    ? fc.oneof(
        fc.record({ door: fc.constant(''), fields: content }),
        fc.record({ door: fc.constant('/status'), fields: status.map((fields) => ({ status: fields })) }),
      )
    : fc.record({ door: fc.constant(''), fields: content });
  const through = (type: 'update' | 'merge' | 'strategic'): fc.Arbitrary<Write> =>
    fc.tuple(manager, doors).map(([name, door]) => ({ type, manager: name, ...door }));
  const apply = fc
    .tuple(manager, doors, fc.boolean())
    .map(([name, door, force]): Write => ({ type: 'apply', manager: name, ...door, force }));
  const json = fc
    .tuple(manager, fc.constantFrom('a', 'example.com~1b'), fc.option(text, { nil: undefined }))
    .map(([name, label, value]): Write => ({ type: 'json', manager: name, name: label, value }));
  return fc.array(
    fc.oneof(
      { weight: 8, arbitrary: apply },
      { weight: 2, arbitrary: through('update') },
      { weight: 2, arbitrary: through('merge') },
      { weight: 2, arbitrary: through('strategic') },
      { weight: 1, arbitrary: json },
      {
        weight: 1,
        arbitrary: fc.oneof(
          manager.map((name): Write => ({ type: 'reset', manager: name })),
          fc.constant<Write>({ type: 'remove' }),
        ),
      },
    ),
    { minLength: 1, maxLength: 10 },
  );
}

/** One object of a registry shared by all sequences; each sequence uses its own name. */
class Target {
  readonly #fixture: RegistryFixture;
  readonly #clock: ManualClock;
  readonly #subject: Subject;
  readonly #name: string;
  /** The last successful configuration of each applier. */
  readonly #wanted = new Map<string, Fields>();

  constructor(fixture: RegistryFixture, clock: ManualClock, subject: Subject, name: string) {
    this.#fixture = fixture;
    this.#clock = clock;
    this.#subject = subject;
    this.#name = name;
  }

  get(): Promise<ApiObject | undefined> {
    return this.#fixture.object('GET', this.#path('')).catch(() => undefined);
  }

  /** Advances the clock, so that changed entries get another time. */
  wait(): void {
    this.#clock.advance(1_000);
  }

  head(): Promise<number> {
    return this.#fixture.store.head();
  }

  /** Every owned field has the value that its appliers applied, so no two of them disagree. */
  checkWanted(object: ApiObject): void {
    for (const entry of object.metadata.managedFields ?? []) {
      if (entry.operation !== 'Apply') continue;
      const wanted = this.#wanted.get(managerOf(entry));
      for (const path of pathsOf(decodeFields(entry.fieldsV1 ?? {}))) {
        if (!path.every(isField)) continue;
        const [asked, found] = [scalarAt(wanted, path), scalarAt(object, path)];
        assert.equal(found, asked, `${managerOf(entry)} owns ${describePath(path)} with another value`);
      }
    }
  }

  /** Executes a write; undefined if it conflicted or there was no object to update. */
  async write(write: Write): Promise<ApiObject | undefined> {
    try {
      return await this.#send(write, await this.get());
    } catch (error) {
      if (error instanceof StatusError && (error.code === 409 || error.code === 404)) return undefined;
      throw error;
    }
  }

  #path(door: string, query = ''): string {
    return `${this.#subject.collection}/${this.#name}${door}${query}`;
  }

  #whole(fields: Fields): Fields {
    return { ...this.#subject.always, ...this.#intent(fields) };
  }

  #intent({ metadata: more, ...fields }: Fields): Fields {
    const identity = { apiVersion: 'v1', kind: this.#subject.kind };
    return { ...identity, metadata: { ...(more as object | undefined), name: this.#name }, ...fields };
  }

  #send(write: Write, stored: ApiObject | undefined): Promise<ApiObject> | undefined {
    const by = write.type === 'remove' ? '' : `?fieldManager=${write.manager}`;
    switch (write.type) {
      case 'apply': {
        const fields = write.door ? this.#intent(write.fields) : this.#whole(write.fields);
        return this.#apply(write, this.#path(write.door, `${by}&force=${write.force}`), fields);
      }
      case 'update': {
        if (stored)
          return this.#fixture.object('PUT', this.#path(write.door, by), { ...stored, ...this.#update(write, stored) });
        if (write.door) return undefined;
        return this.#fixture.object('POST', `${this.#subject.collection}${by}`, this.#whole(write.fields));
      }
      case 'merge':
      case 'strategic':
        return this.#patch(write.type, this.#path(write.door, by), write.fields);
      case 'json': {
        const known = { op: 'add', path: '/metadata/labels', value: { ...stored?.metadata.labels } };
        const path = `/metadata/labels/${write.name}`;
        const change =
          write.value === undefined
            ? [
                { op: 'add', path, value: '' },
                { op: 'remove', path },
              ]
            : [{ op: 'add', path, value: write.value }];
        return this.#patch('json', this.#path('', by), [known, ...change]);
      }
      case 'reset':
        return this.#patch('merge', this.#path('', by), { metadata: { managedFields: [{}] } });
      case 'remove':
        return this.#remove(stored);
    }
  }

  async #apply({ manager: name, door }: Write & { type: 'apply' }, path: string, fields: Fields): Promise<ApiObject> {
    const applied = await this.#patch('apply', path, fields);
    this.#wanted.set(`${name}/Apply/${door.slice(1)}`, fields);
    return applied;
  }

  /** The body of an update of the stored object. */
  #update({ fields }: { readonly fields: Fields }, stored: ApiObject): Fields {
    const { name, namespace, uid, resourceVersion, managedFields } = stored.metadata;
    const identity = { name, namespace, uid, resourceVersion, managedFields };
    return {
      ...this.#subject.always,
      ...fields,
      metadata: { ...(fields['metadata'] as object | undefined), ...identity },
    };
  }

  #patch(type: PatchFormat, path: string, body: unknown): Promise<ApiObject> {
    this.#fixture.patchType = type;
    return this.#fixture.object('PATCH', path, body);
  }

  async #remove(stored: ApiObject | undefined): Promise<ApiObject> {
    if (stored?.metadata.finalizers) {
      await this.#patch('merge', this.#path('', '?fieldManager=c'), { metadata: { finalizers: null } });
    }
    await this.#fixture.call('DELETE', this.#path(''));
    throw new StatusError('NotFound', 'it was removed');
  }
}

const managerOf = ({ manager: name, operation, subresource = '' }: ManagedFieldsEntry): string =>
  [name, operation, subresource].join('/');

/** The string or boolean at a path; undefined for other values, and for those that are stored as absent. */
function scalarAt(value: unknown, path: FieldPath): unknown {
  const found = path.reduce((at: unknown, element) => (at as Fields | undefined)?.[nameOf(element)], value);
  return (typeof found === 'string' || typeof found === 'boolean') && found !== '' && found !== false
    ? found
    : undefined;
}

/** Identity and server-set fields. */
const neverOwned =
  /^\.(apiVersion|kind|metadata(\.(name|namespace|uid|resourceVersion|creationTimestamp|deletionTimestamp|deletionGracePeriodSeconds|generation|managedFields|selfLink)\b.*)?)$/;

function checkInvariants(fixture: RegistryFixture, subject: Subject, object: ApiObject): void {
  const { schema } = fixture.served(subject.collection).kind;
  const there = new Set([...pathsOf(fieldsOf(objectShapeOf(schema), object))].map(describePath));
  const entries = object.metadata.managedFields ?? [];
  for (const entry of entries) {
    assert.ok(entry.manager && entry.operation && entry.apiVersion && entry.time && entry.fieldsType === 'FieldsV1');
    const paths = [...pathsOf(decodeFields(entry.fieldsV1 ?? {}))];
    assert.ok(paths.length > 0, `${managerOf(entry)} owns nothing`);
    for (const path of paths) checkPath(entry, path, there, object);
    assert.deepEqual(encodeFields(decodeFields(entry.fieldsV1 ?? {})), entry.fieldsV1, 'a set is in published form');
  }
  const ids = entries.map(managerOf);
  assert.equal(new Set(ids).size, ids.length, 'each owner has one entry');
  const owners = decodeOwners(entries, 'sent');
  assert.ok(owners);
  assert.deepEqual(encodeOwners(owners) ?? [], entries, 'the list is in published form');
}

function checkPath(entry: ManagedFieldsEntry, path: FieldPath, there: ReadonlySet<string>, object: ApiObject): void {
  const name = describePath(path);
  assert.doesNotMatch(name, neverOwned, managerOf(entry));
  assert.equal(
    name.startsWith('.status'),
    entry.subresource === 'status' && !name.startsWith('.metadata'),
    `${managerOf(entry)} owns ${name}`,
  );
  // An applier owns what it applied, even a value that is stored as absent.
  if (entry.operation === 'Update' || isLeafOfData(name)) {
    assert.ok(
      there.has(name) || isContainer(there, name),
      `${managerOf(entry)} owns ${name}, which is not in ${JSON.stringify(object)}`,
    );
  }
}

const isLeafOfData = (name: string): boolean => name.startsWith('.data.');
/** Containers are owned by their creators; list elements are owned individually. */
const isContainer = (there: ReadonlySet<string>, name: string): boolean =>
  [...there].some((other) => other.startsWith(name));

for (const subject of subjects) {
  test(`random writes by several managers to a ${subject.kind} keep the ownership invariants`, async () => {
    const clock = new ManualClock();
    await using fixture = await RegistryFixture.open({ clock });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(writesOf(subject), async (writes) => {
        const target = new Target(fixture, clock, subject, `o${run++}`);
        for (const write of writes) {
          target.wait();
          await writeAndCheck(fixture, subject, target, write);
        }
      }),
      { numRuns: Math.ceil(sequences / subjects.length) },
    );
  });
}

async function writeAndCheck(fixture: RegistryFixture, subject: Subject, target: Target, write: Write): Promise<void> {
  const before = await target.get();
  const written = await target.write(write);
  const after = await target.get();
  if (!written) {
    if (write.type !== 'remove') assert.deepEqual(after, before, 'a refused write changes nothing');
    return;
  }
  if (after) {
    checkInvariants(fixture, subject, after);
    target.checkWanted(after);
  }
  if (write.type === 'apply') await checkApplied(target, write, { before, after });
}

/** By owner: its fields, by path text. */
const ownersOf = (object: ApiObject | undefined): ReadonlyMap<string, ReadonlyMap<string, FieldPath>> =>
  new Map(
    (object?.metadata.managedFields ?? []).map((entry) => [
      managerOf(entry),
      new Map([...pathsOf(decodeFields(entry.fieldsV1 ?? {}))].map((path) => [describePath(path), path])),
    ]),
  );

interface States {
  readonly before: ApiObject | undefined;
  readonly after: ApiObject | undefined;
}

async function checkApplied(
  target: Target,
  write: Write & { type: 'apply' },
  { before, after }: States,
): Promise<void> {
  const head = await target.head();
  target.wait();
  assert.deepEqual(await target.write(write), after, 'an apply twice is an apply once');
  assert.equal(await target.head(), head, 'and makes no new revision');
  const [owned, known] = [ownersOf(after), ownersOf(before)];
  const own = `${write.manager}/Apply/${write.door.slice(1)}`;
  const isOwned = (name: string): boolean => [...owned.values()].some((paths) => paths.has(name));
  for (const [name, path] of known.get(own) ?? []) {
    if (!path.every(isField) || isOwned(name)) continue;
    assert.equal(scalarAt(after, path), undefined, `${name}, which nobody wants any more, is still there`);
  }
  if (write.force) return;
  for (const [owner, paths] of known) {
    if (owner === own) continue;
    const taken = [...paths].filter(([name, path]) => !owned.get(owner)?.has(name) && path.every(isField));
    for (const [name, path] of taken) {
      assert.equal(scalarAt(after, path), undefined, `${name} was taken from ${owner} without force`);
    }
  }
}
