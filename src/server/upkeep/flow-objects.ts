import { type Closable, ClosableStack } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { FlowCondition, FlowSchemaSpec, LevelSpec } from '../../kinds/flowcontrol/flow-schemas.ts';
import { mandatoryLevels } from '../../kinds/flowcontrol/initial-configuration.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { formatTime } from '../../meta/time.ts';
import { startInformer } from '../../resources/object-informer.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import {
  type FlowConfiguration,
  flowConfiguration,
  initialConfiguration,
} from '../serving/flow-control/flow-configuration.ts';

interface FlowObjectsParts {
  readonly resources: Pick<ResourceRegistry, 'finder' | 'onChange'>;
  readonly dialect: Dialect;
  readonly logger: Logger;
  /** Takes over a configuration. */
  readonly configure: (configuration: FlowConfiguration) => void;
}

interface FollowedLevel {
  readonly uid: string;
  readonly spec: LevelSpec;
}

interface FollowedFlow {
  readonly uid: string;
  readonly spec: FlowSchemaSpec;
  readonly conditions: readonly FlowCondition[];
}

/** Follows FlowSchemas and PriorityLevelConfigurations: what they say counts for the next request after their write. */
export class FlowObjects implements Closable {
  readonly #parts: FlowObjectsParts;
  readonly #levels = new Map<string, FollowedLevel>();
  readonly #flows = new Map<string, FollowedFlow>();
  readonly #held = new ClosableStack();
  #following = false;
  #changed: () => void = () => {};

  constructor(parts: FlowObjectsParts) {
    this.#parts = parts;
    const specOf = <T>(object: ApiObject): T => (object['spec'] ?? {}) as T;
    this.#follow('prioritylevelconfigurations', this.#levels, (object) => ({
      uid: object.metadata.uid ?? '',
      spec: specOf<LevelSpec>(object),
    }));
    this.#follow('flowschemas', this.#flows, (object) => ({
      uid: object.metadata.uid ?? '',
      spec: specOf<FlowSchemaSpec>(object),
      conditions:
        (object['status'] as { readonly conditions?: readonly FlowCondition[] } | undefined)?.conditions ?? [],
    }));
    this.#following = true;
    this.#apply();
  }

  #follow<T>(resource: string, into: Map<string, T>, read: (object: ApiObject) => T): void {
    const { resources, dialect, logger } = this.#parts;
    const find = resources.finder(dialect.group('flowcontrol.apiserver'), 'v1', resource);
    const put = (object: ApiObject): void => {
      into.set(object.metadata.name ?? '', read(object));
      this.#apply();
    };
    const remove = (_namespace: string, name: string): void => {
      if (into.delete(name)) this.#apply();
    };
    this.#held.add(startInformer({ resources, find }, { put, remove }, logger));
  }

  #apply(): void {
    if (!this.#following) return;
    const { dialect, configure } = this.#parts;
    const levels = specsIn(this.#levels);
    const schemas = specsIn(this.#flows);
    const uids = { levels: uidsIn(this.#levels), schemas: uidsIn(this.#flows) };
    configure(
      levels.size + schemas.size === 0 ? initialConfiguration(dialect) : flowConfiguration({ levels, schemas, uids }),
    );
    this.#changed();
  }

  /**
   * Writes into the status of each FlowSchema whether its level is there (condition `Dangling`), until closed. Every server
   * of a store does so; they write the same.
   */
  writeConditions(client: Pick<ApiClient, 'strategicPatch'>, clock: Clock): Closable {
    const writer = new ConditionWriter({ ...this.#parts, client, clock }, () => this.#wrongConditions(clock));
    this.#changed = () => writer.due();
    writer.due();
    return writer;
  }

  *#wrongConditions(clock: Clock): Generator<readonly [name: string, condition: FlowCondition]> {
    for (const [name, { spec, conditions }] of this.#flows) {
      const level = spec.priorityLevelConfiguration?.name ?? '';
      const found = this.#levels.has(level) || Object.hasOwn(mandatoryLevels, level);
      const old = conditions.find(({ type }) => type === 'Dangling');
      const wanted = danglingCondition(level, found);
      if (old && old.status === wanted.status && old.reason === wanted.reason && old.message === wanted.message)
        continue;
      const lastTransitionTime = (old?.status === wanted.status && old.lastTransitionTime) || formatTime(clock.now());
      yield [name, { ...wanted, lastTransitionTime }];
    }
  }

  close(): void {
    this.#held.close();
  }
}

const specsIn = <T>(objects: ReadonlyMap<string, { readonly spec: T }>): ReadonlyMap<string, T> =>
  new Map(Array.from(objects, ([name, { spec }]) => [name, spec]));

const uidsIn = (objects: ReadonlyMap<string, { readonly uid: string }>): ReadonlyMap<string, string> =>
  new Map(Array.from(objects, ([name, { uid }]) => [name, uid]));

/** As published. */
function danglingCondition(level: string, found: boolean) {
  const about = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
  return found
    ? { type: 'Dangling', status: 'False', reason: 'Found', message: `${about} and it exists` }
    : { type: 'Dangling', status: 'True', reason: 'NotFound', message: `${about} but there is no such object` };
}

interface ConditionWriterParts extends Pick<FlowObjectsParts, 'dialect' | 'logger'> {
  readonly client: Pick<ApiClient, 'strategicPatch'>;
  readonly clock: Clock;
}

/** Writes conditions one after another, once changes have come to rest. What fails is tried again later. */
class ConditionWriter implements Closable {
  readonly #parts: ConditionWriterParts;
  readonly #wrong: () => Iterable<readonly [name: string, condition: FlowCondition]>;
  #timer: Closable | undefined;
  #writing = false;
  #closed = false;

  constructor(parts: ConditionWriterParts, wrong: () => Iterable<readonly [name: string, condition: FlowCondition]>) {
    this.#parts = parts;
    this.#wrong = wrong;
  }

  due(afterMs: number = limits.flowConditionsGatherMs): void {
    if (this.#closed || this.#writing || this.#timer) return;
    this.#timer = this.#parts.clock.after(afterMs, () => {
      this.#timer = undefined;
      void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#writing = true;
    const failed = await this.#writeAll();
    this.#writing = false;
    if (failed) this.due(limits.flowConditionsRetryMs);
    // What has changed meanwhile was not written.
    else for (const _ of this.#wrong()) return this.due();
  }

  /** Whether any was refused. */
  async #writeAll(): Promise<boolean> {
    const { client, dialect, logger } = this.#parts;
    const apiVersion = `${dialect.group('flowcontrol.apiserver')}/v1`;
    let failed = false;
    for (const [name, condition] of [...this.#wrong()]) {
      if (this.#closed) return false;
      const path = resourcePath({ apiVersion, resource: 'flowschemas', name, subresource: 'status' });
      await client.strategicPatch(path, { status: { conditions: [condition] } }).catch((error: unknown) => {
        failed = true;
        logger.debug('the condition of a flow schema was not written', { name, error });
      });
    }
    return failed;
  }

  close(): void {
    this.#closed = true;
    this.#timer?.close();
  }
}
