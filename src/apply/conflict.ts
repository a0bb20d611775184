import { limits } from '../base/limits.ts';
import { StatusError } from '../meta/status-error.ts';
import { compareText } from './canonical-json.ts';
import { describePath, type FieldPath } from './fields/field-path.ts';
import { type FieldSet, pathsOf } from './fields/field-set.ts';

/** A field that an applier sets to another value than the manager that owns it. */
export interface Conflict {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** '' for the object itself. */
  readonly subresource: string;
  /** Time of the manager's entry, if any. */
  readonly time: string | undefined;
  readonly path: FieldPath;
}

type ConflictOwner = Omit<Conflict, 'path'>;

/** One conflict for each field and owner, sorted by owner, then in kube-apiserver's field order. */
export function conflictsOf(
  owners: readonly { readonly owner: ConflictOwner; readonly fields: FieldSet }[],
): Conflict[] {
  return [...owners]
    .sort((a, b) => compareText(sortKey(a.owner), sortKey(b.owner)))
    .flatMap(({ owner: { manager, operation, apiVersion, subresource, time }, fields }) =>
      [...pathsOf(fields)].map((path) => ({ manager, operation, apiVersion, subresource, time, path })),
    );
}

const sortKey = ({ manager, operation, apiVersion, subresource }: ConflictOwner): string =>
  [manager, operation, apiVersion, subresource].join('\0');

/**
 * 409 with a cause for each conflict (spec section 4.7), in the format that clients parse. Lists at most
 * `limits.findingsMax` conflicts; the number in the message is the total.
 */
export function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const shown = conflicts.slice(0, limits.findingsMax);
  return new StatusError('Conflict', describeConflicts(shown, conflicts.length), {
    details: {
      causes: shown.map((conflict) => ({
        reason: 'FieldManagerConflict',
        message: `conflict with ${describeOwner(conflict)}`,
        field: describePath(conflict.path),
      })),
    },
  });
}

function describeConflicts(conflicts: readonly Conflict[], count: number): string {
  const [first, second] = conflicts;
  if (first && !second) {
    return `Apply failed with 1 conflict: conflict with ${describeOwner(first)}: ${describePath(first.path)}`;
  }
  const lines: string[] = [];
  let owner = '';
  for (const conflict of conflicts) {
    if (sortKey(conflict) !== owner) lines.push(`conflicts with ${describeOwner(conflict)}:`);
    owner = sortKey(conflict);
    lines.push(`- ${describePath(conflict.path)}`);
  }
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`;
}

/** `"editor" with subresource "status" using apps/v1`; appliers are identified without a version. */
function describeOwner({ manager, operation, apiVersion, subresource }: ConflictOwner): string {
  const through = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  const using = operation === 'Update' ? ` using ${apiVersion}` : '';
  return JSON.stringify(manager) + through + using;
}
