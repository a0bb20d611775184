import type { Dialect } from '../../../dialect/dialect.ts';
import type { FlowSchemaSpec, LevelSpec } from '../../../kinds/flowcontrol/flow-schemas.ts';
import {
  initialFlowControl,
  mandatoryFlows,
  mandatoryLevels,
} from '../../../kinds/flowcontrol/initial-configuration.ts';
import { flowSchema, type ReadFlowSchema, type Uids } from './flow-schemas.ts';
import { type PriorityLevel, priorityLevel } from './priority-levels.ts';

/** Specs by the names of their objects. */
interface FlowSpecs {
  readonly levels: ReadonlyMap<string, LevelSpec>;
  readonly schemas: ReadonlyMap<string, FlowSchemaSpec>;
  /** Default: nothing is stored. */
  readonly uids?: { readonly levels: Uids; readonly schemas: Uids };
}

/** How requests are sorted, and what each level may have. */
export interface FlowConfiguration {
  readonly levels: readonly PriorityLevel[];
  readonly schemas: readonly ReadFlowSchema[];
}

/** Reads specs. The mandatory ones count whether they are there or not, as in kube-apiserver. */
export function flowConfiguration({
  levels,
  schemas,
  uids = { levels: new Map(), schemas: new Map() },
}: FlowSpecs): FlowConfiguration {
  const allLevels = new Map([...levels, ...Object.entries(mandatoryLevels).filter(([name]) => !levels.has(name))]);
  const allSchemas = new Map([...schemas, ...Object.entries(mandatoryFlows)]);
  return {
    levels: [...allLevels].map(([name, spec]) => priorityLevel(name, spec)),
    schemas: [...allSchemas].map(([name, spec]) => flowSchema(name, spec, uids)),
  };
}

/** What counts until somebody has changed it: the objects that are made at the first start. */
export function initialConfiguration(dialect: Dialect): FlowConfiguration {
  const objects = initialFlowControl(dialect);
  const specsOf = <T>(kind: string): ReadonlyMap<string, T> =>
    new Map(
      objects
        .filter((object) => object.kind === kind)
        .map(({ metadata: { name = '' }, ...object }) => [name, (object as { readonly spec?: unknown }).spec as T]),
    );
  return flowConfiguration({ levels: specsOf('PriorityLevelConfiguration'), schemas: specsOf('FlowSchema') });
}
