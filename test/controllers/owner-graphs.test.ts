import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import { KeptEvents } from '../../src/client/event-recorder-fixture.ts';
import { startGarbageCollector } from '../../src/controllers/garbage-collector/garbage-collector.ts';
import type { ApiObject, OwnerReference } from '../../src/meta/api-object.ts';
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
const scenarios: fc.Arbitrary<Scenario> = fc.record({
  owners: fc.array(
    fc.uniqueArray(fc.oneof({ weight: 9, arbitrary: fc.nat(size - 1) }, fc.constant(never)), { maxLength: 3 }),
    { minLength: size, maxLength: size },
  ),
  blocks: fc.boolean(),
  deletions: fc.array(fc.tuple(fc.nat(size - 1), fc.constantFrom<Policy>('Background', 'Foreground', 'Orphan')), {
    minLength: 1,
    maxLength: 4,
  }),
});

/** Owners by object, as the rules say it ends: an object whose owners are all gone is gone. */
class Model {
  readonly owners = new Map<number, Set<number>>();

  add(index: number, owners: readonly number[]): void {
    this.owners.set(index, new Set(owners));
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
  readonly #collector: ReturnType<typeof startGarbageCollector>;
  readonly #uids = new Map<number, string>();
  #round = 0;

  constructor(fixture: RegistryFixture) {
    this.fixture = fixture;
    const client = new ApiClient(new RegistryTransport(fixture), 'collector');
    this.#collector = startGarbageCollector({
      client,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      events: new KeptEvents(),
    });
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
    } catch {
      // It was collected meanwhile, because of an owner that never was.
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
    } catch {
      // It is gone already.
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

  async [Symbol.asyncDispose](): Promise<void> {
    this.#collector.close();
    await this.fixture[Symbol.asyncDispose]();
  }
}

test('random graphs end as the rules say, whatever is deleted and how', async () => {
  await using world = new World(await RegistryFixture.open());
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => {
      const model = new Model();
      await world.build(scenario);
      for (const [index, owners] of scenario.owners.entries()) model.add(index, owners);
      model.collect();
      await world.becomes(model, 'creation');
      for (const [index, policy] of scenario.deletions) {
        await world.delete(index, policy);
        model.delete(index, policy);
        await world.becomes(model, `deletion of ${index}, ${policy}`);
      }
      await world.fixture.call('DELETE', collection);
      await until(async () => (await world.state()) === '', 'the rest goes');
    }),
    { numRuns: 100, endOnFailure: true },
  );
});

test('what should stay is still there when the collector has done everything else', async () => {
  await using world = new World(await RegistryFixture.open());
  await world.build({ owners: [[], [0], [0, 1], [1], [], [4], []], blocks: true, deletions: [] });
  await world.delete(1, 'Orphan');
  await world.delete(4, 'Foreground');
  const model = new Model();
  for (const [index, owners] of [
    [0, []],
    [2, [0]],
    [3, []],
    [6, []],
  ] as const)
    model.add(index, owners);
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
