import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Closable } from '../../src/base/disposable.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import { KeptEvents } from '../../src/client/event-recorder-fixture.ts';
import { startGarbageCollector } from '../../src/controllers/garbage-collector/garbage-collector.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ApiObject, OwnerReference } from '../../src/meta/api-object.ts';
import { StatusError } from '../../src/meta/status-error.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import { RegistryTransport } from '../support/registry-transport.ts';

/** What random graphs of owners become by random deletions, beside a model that knows nothing of events. */
const collection = '/api/v1/namespaces/default/configmaps';

type Policy = 'Background' | 'Foreground' | 'Orphan';

interface Scenario {
  /** For each object: indexes of objects, itself and later ones included, that own it; 99 is one that never was. */
  readonly owners: readonly (readonly number[])[];
  readonly blocks: boolean;
  readonly deletions: readonly (readonly [index: number, policy: Policy])[];
}

const never = 99;
const size = 7;
const scenariosOf = (policies: readonly Policy[]): fc.Arbitrary<Scenario> =>
  fc.record({
    owners: fc.array(
      fc.uniqueArray(fc.oneof({ weight: 9, arbitrary: fc.nat(size - 1) }, fc.constant(never)), { maxLength: 3 }),
      { minLength: size, maxLength: size },
    ),
    blocks: fc.boolean(),
    deletions: fc.array(fc.tuple(fc.nat(size - 1), fc.constantFrom(...policies)), {
      minLength: 1,
      maxLength: 4,
    }),
  });

/** Owners by object, as the rules say it ends: an object whose owners are all gone is gone. */
class Model {
  readonly owners = new Map<number, Set<number>>();

  constructor(owners: Scenario['owners']) {
    for (const [index, each] of owners.entries()) this.owners.set(index, new Set(each));
    this.collect();
  }

  delete(index: number, policy: Policy): void {
    if (policy === 'Orphan') for (const owners of this.owners.values()) owners.delete(index);
    this.owners.delete(index);
    this.collect();
  }

  collect(): void {
    for (let changed = true; changed; ) {
      changed = false;
      for (const [index, owners] of this.owners) {
        const there = [...owners].filter((owner) => this.owners.has(owner));
        if (there.length === owners.size) continue;
        changed = true;
        if (there.length === 0) this.owners.delete(index);
        else this.owners.set(index, new Set(there));
      }
    }
  }

  toString(): string {
    return [...this.owners]
      .map(([index, owners]) => `${index}<-${[...owners].sort()}`)
      .sort()
      .join(' ');
  }
}

class World implements AsyncDisposable {
  readonly fixture: RegistryFixture;
  readonly #uids = new Map<number, string>();
  #collector: Closable | undefined;
  #round = 0;

  private constructor(fixture: RegistryFixture) {
    this.fixture = fixture;
  }

  /** Without a collector. */
  static async open(): Promise<World> {
    return new World(await RegistryFixture.open());
  }

  start(): void {
    this.#collector = startGarbageCollector({
      client: new ApiClient(new RegistryTransport(this.fixture), 'collector'),
      dialect: orch,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      events: new KeptEvents(),
    });
  }

  stop(): void {
    this.#collector?.close();
  }

  name = (index: number): string => `r${this.#round}-${index}`;

  /** All objects of a round exist before any refers to another: references go in circles. */
  async build({ owners, blocks }: Scenario): Promise<void> {
    this.#round += 1;
    this.#uids.clear();
    for (const index of owners.keys()) {
      const made = await this.fixture.object('POST', collection, this.#object(index));
      this.#uids.set(index, made.metadata.uid ?? '');
    }
    // The last first, so that owners refer to something only when what they own does.
    for (const [index, each] of [...owners.entries()].reverse()) {
      await this.#attach(index, each, blocks);
    }
  }

  async #attach(index: number, owners: readonly number[], blocks: boolean): Promise<void> {
    if (owners.length === 0) return;
    const ownerReferences = owners.map((owner): OwnerReference => this.#reference(owner, blocks));
    try {
      await this.fixture.object('PUT', `${collection}/${this.name(index)}`, this.#object(index, { ownerReferences }));
    } catch (error) {
      // It was collected meanwhile, because of an owner that never was.
      requireNotFound(error);
    }
  }

  #object(index: number, metadata: object = {}) {
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: this.name(index), ...metadata } };
  }

  #reference(owner: number, blockOwnerDeletion: boolean): OwnerReference {
    const uid = this.#uids.get(owner) ?? 'a-uid-of-nothing';
    return { apiVersion: 'v1', kind: 'ConfigMap', name: this.name(owner), uid, blockOwnerDeletion };
  }

  async delete(index: number, propagationPolicy: Policy): Promise<void> {
    try {
      await this.fixture.call('DELETE', `${collection}/${this.name(index)}`, { propagationPolicy });
    } catch (error) {
      // It is gone already.
      requireNotFound(error);
    }
  }

  /** The state in the words of the model. */
  async state(): Promise<string> {
    const { items } = await this.fixture.list(collection);
    const byUid = new Map([...this.#uids].map(([index, uid]) => [uid, index]));
    const describe = ({ metadata }: ApiObject): string => {
      const owners = (metadata.ownerReferences ?? []).map(({ uid }) => byUid.get(uid) ?? never).sort();
      return `${byUid.get(metadata.uid ?? '')}<-${owners}`;
    };
    return items.map(describe).sort().join(' ');
  }

  async becomes(model: Model, after: string): Promise<void> {
    let last = '';
    await until(
      async () => {
        last = await this.state();
        return last === String(model);
      },
      () => `${after}: "${last}" does not become "${model}"`,
    );
  }

  /** Deletes what is left. */
  async clear(): Promise<void> {
    await this.fixture.call('DELETE', collection);
    await until(async () => (await this.state()) === '', 'the rest goes');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.fixture[Symbol.asyncDispose]();
  }
}

function requireNotFound(error: unknown): void {
  if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
}

test('random graphs end as the rules say, whatever is deleted and how', async () => {
  await using world = await World.open();
  world.start();
  await fc.assert(
    fc.asyncProperty(scenariosOf(['Background', 'Foreground', 'Orphan']), async (scenario) => {
      const model = new Model(scenario.owners);
      await world.build(scenario);
      await world.becomes(model, 'creation');
      for (const [index, policy] of scenario.deletions) {
        await world.delete(index, policy);
        model.delete(index, policy);
        await world.becomes(model, `deletion of ${index}, ${policy}`);
      }
      await world.clear();
    }),
    { numRuns: 100, endOnFailure: true },
  );
});

/**
 * Deletions that nobody waits for: reads of the collector are ahead of the events that it has seen. Whether dependents of
 * what is orphaned stay would depend on the order.
 */
const hasty = scenariosOf(['Background', 'Foreground']);

/** The end of it, whatever comes first. */
async function afterAll(world: World, { owners, deletions }: Scenario): Promise<void> {
  const model = new Model(owners);
  for (const [index, policy] of deletions) model.delete(index, policy);
  await world.becomes(model, `deletions of ${deletions.map(([index, policy]) => `${index}, ${policy}`).join('; ')}`);
}

test('random graphs end as the rules say when all is deleted at once', async () => {
  await using world = await World.open();
  world.start();
  await fc.assert(
    fc.asyncProperty(hasty, async (scenario) => {
      await world.build(scenario);
      await Promise.all(scenario.deletions.map(([index, policy]) => world.delete(index, policy)));
      await afterAll(world, scenario);
      await world.clear();
    }),
    { numRuns: 100, endOnFailure: true },
  );
});

test('random graphs end as the rules say when the collector comes after the deletions', async () => {
  await using world = await World.open();
  await fc.assert(
    fc.asyncProperty(hasty, async (scenario) => {
      await world.build(scenario);
      for (const [index, policy] of scenario.deletions) await world.delete(index, policy);
      world.start();
      await afterAll(world, scenario);
      world.stop();
      await world.fixture.call('DELETE', collection, { propagationPolicy: 'Background' });
    }),
    { numRuns: 50, endOnFailure: true },
  );
});

/** Objects that wait for each other, all of them in foreground deletion before the collector sees the first. */
for (const [what, owners] of [
  ['two', [[1], [0]]],
  ['three', [[2], [0], [1]]],
  ['five', [[4], [0], [1], [2], [3]]],
  ['two cycles of them, with one in common', [[1, 2], [0], [0]]],
  [
    'all for all others',
    [
      [1, 2, 3],
      [0, 2, 3],
      [0, 1, 3],
      [0, 1, 2],
    ],
  ],
  [
    'each for itself too',
    [
      [0, 1],
      [0, 1],
    ],
  ],
  ['a cycle of them at the end of a chain', [[], [0, 2], [1]]],
  ['a cycle of them with a chain at its end', [[1], [0], [1], [2]]],
] as const) {
  test(`objects that wait for each other go: ${what}`, async () => {
    await using world = await World.open();
    await world.build({ owners, blocks: true, deletions: [] });
    for (const index of owners.keys()) await world.delete(index, 'Foreground');
    world.start();
    await world.becomes(new Model([]), 'deletion');
  });
}

test('what should stay is still there when the collector has done everything else', async () => {
  await using world = await World.open();
  world.start();
  await world.build({ owners: [[], [0], [0, 1], [1], [], [4], []], blocks: true, deletions: [] });
  await world.delete(1, 'Orphan');
  await world.delete(4, 'Foreground');
  const model = new Model([[], [0], [0, 1], [1], [], [4], []]);
  model.delete(1, 'Orphan');
  model.delete(4, 'Foreground');
  assert.equal(String(model), '0<- 2<-0 3<- 6<-');
  await world.becomes(model, 'deletions');
  for (let canary = 0; canary < 5; canary++) {
    const made = await world.fixture.object('POST', collection, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: `canary-${canary}`,
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'none', uid: 'none' }],
      },
    });
    await until(
      async () =>
        !(await world.fixture.list(collection)).items.some(({ metadata }) => metadata.uid === made.metadata.uid),
      'the canary is collected',
    );
  }
  assert.equal(await world.state(), String(model));
});
