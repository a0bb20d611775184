import type { Clock } from '../../base/time/clock.ts';
import { json } from '../../content/formats/json.ts';
import { yaml } from '../../content/formats/yaml.ts';
import { schemaReady } from '../../kinds/lazy-schema.ts';
import { isReadVerb } from '../../request/request-info.ts';
import type { ResourceOperation } from './operation.ts';

/**
 * Resolves when the schema that a request needs is built. Undefined if there is nothing to wait for: built-in kinds, kinds in
 * use, and reads of objects as they are stored.
 */
export function requiredSchema(operation: ResourceOperation, clock: Clock): Promise<void> | undefined {
  const { served } = operation;
  if (!served.resource.custom || !needsSchema(operation)) return undefined;
  return schemaReady(served.kind, clock);
}

function needsSchema({ info, served, presentation }: ResourceOperation): boolean {
  if (!isReadVerb(info.verb) || served.resource.kinds.length > 1) return true;
  return !schemaless.has(presentation.negotiated.format);
}

/** Formats that tell nothing of types. */
const schemaless: ReadonlySet<string> = new Set([json.name, yaml.name]);
