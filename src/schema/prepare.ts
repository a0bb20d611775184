import { applyDefaults } from './defaults.ts';
import { dropDisabledFields } from './feature-gates.ts';
import { rulesOfPart } from './rules/rule-tree.ts';
import type { Schema } from './schema.ts';
import { embeddedObjects } from './structural/embedded-objects.ts';
import { validateUpdate } from './validate.ts';

const noFeatures: ReadonlySet<string> = new Set();

/**
 * Finds out what is asked of a whole schema when its first object is written: defaults, rules, embedded objects, marks. What is
 * known of its parts is not looked for again, so that whoever prepares all parts first never takes long.
 */
export function prepare(schema: Schema): void {
  applyDefaults(schema, undefined);
  rulesOfPart(schema);
  validateUpdate(schema, undefined, undefined);
  dropDisabledFields(schema, undefined, undefined, noFeatures);
  if (schema.type === 'struct') embeddedObjects(schema, undefined).next();
}
