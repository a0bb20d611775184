import { exponentText } from '../base/exponent-text.ts';
import { jsonText } from '../base/json-text.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { describeFieldError, invalid } from '../meta/field-error.ts';
import { type JsonPath, parseJsonPath } from '../meta/json-path.ts';
import { badRequest } from '../meta/status-error.ts';
import { humanDuration } from '../meta/time.ts';
import { type ListMetadata, type PartialObjectMetadata, partialObjectMetadata } from './partial-object-metadata.ts';

/**
 * The Table format (spec section 4.3): the server renders objects as rows of cells, so that clients can display kinds that
 * they do not know.
 */

/** A column as defined by a kind. */
interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0 is always shown, higher values only in wide output; the client decides. */
  readonly priority: number;
  readonly value: CellSource;
}

type Cell = string | number | boolean | null;

/** The source of a cell: a path, or a function if a path is not enough. `now` is in milliseconds. */
export type CellSource = CellPath | ((object: ApiObject, now: number) => Cell);

/** Type of a column whose values may have any type. */
interface TypedCell {
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
}

export interface CellPath {
  /** A JSON path; the first match is used. */
  readonly path: string;
  /**
   * `age` shows a time as `5d`; `count` shows the number of elements or fields; `typed` shows the value as columns of custom
   * resources do by their type, and null for a value of another type.
   */
  readonly as?: 'age' | 'count' | TypedCell;
  /** Shown if there is no value, or if it is '' and not shown by its type. */
  readonly absent: Cell;
}

/** The object that a row includes besides its cells. */
type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  /** If empty, the default columns: name and creation time. */
  readonly columns: readonly TableColumn[];
  /** What is marked about an object in its row. Default: nothing. */
  readonly conditionsOf?: ((object: ApiObject) => readonly RowCondition[]) | undefined;
  readonly includeObject: IncludeObject;
  /** apiVersion of the table, such as `meta.orch.io/v1`. */
  readonly metaVersion: string;
  /** Current time in milliseconds, for ages. */
  readonly now: number;
}

export interface Table {
  readonly kind: 'Table';
  readonly apiVersion: string;
  readonly metadata: ListMetadata;
  /** null in watch events after the first one, which has sent the columns. */
  readonly columnDefinitions: readonly ColumnDefinition[] | null;
  readonly rows: readonly TableRow[];
}

type ColumnDefinition = Omit<TableColumn, 'value'>;

/** A mark of a row: clients may show rows that are `Completed` in another way. */
export interface RowCondition {
  readonly type: 'Completed';
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export interface TableRow {
  readonly cells: readonly Cell[];
  /** Absent if there are none. */
  readonly conditions?: readonly RowCondition[];
  readonly object: ApiObject | PartialObjectMetadata | null;
}

/** Parses the `includeObject` query parameter. Default: `Metadata`. Throws BadRequest if it is invalid. */
export function parseIncludeObject(value: string | undefined): IncludeObject {
  if (value === undefined || value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  const error = invalid('includeObject', value, "must be 'Metadata', 'Object', 'None', or empty");
  throw badRequest(`Unable to convert to Table as requested: ${error.field}: ${describeFieldError(error)}`);
}

const defaultColumns: readonly TableColumn[] = [
  {
    name: 'Name',
    type: 'string',
    format: 'name',
    description: 'Name of the object.',
    priority: 0,
    value: { path: '.metadata.name', absent: '' },
  },
  {
    name: 'Created At',
    type: 'date',
    format: '',
    description: 'When the object was created.',
    priority: 0,
    value: { path: '.metadata.creationTimestamp', absent: null },
  },
];

const columnsOf = ({ columns }: TableOptions): readonly TableColumn[] =>
  columns.length === 0 ? defaultColumns : columns;

const columnDefinitions = (options: TableOptions): ColumnDefinition[] =>
  columnsOf(options).map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format,
    description,
    priority,
  }));

const paths = new WeakMap<CellPath, JsonPath>();

/** The cell of an object. */
export function cellOf(source: CellSource, object: ApiObject, now: number): Cell {
  if (typeof source === 'function') return source(object, now);
  let path = paths.get(source);
  if (!path) {
    path = parseJsonPath(source.path);
    paths.set(source, path);
  }
  const [found] = path.find(object);
  if (found !== undefined && typeof source.as === 'object') return typedCell(source.as, found, now);
  return found === undefined || found === '' ? source.absent : shown(found, source, now);
}

function typedCell({ type }: TypedCell, found: unknown, now: number): Cell {
  switch (type) {
    case 'string':
      return typeof found === 'string' ? found : textOf(found);
    case 'integer':
      // A bigint is written as the number that it is.
      return typeof found === 'number'
        ? Math.trunc(found)
        : typeof found === 'bigint'
          ? (found as unknown as number)
          : null;
    case 'number':
      return typeof found === 'number' ? found : typeof found === 'bigint' ? Number(found) : null;
    case 'boolean':
      return typeof found === 'boolean' ? found : null;
    case 'date':
      return typeof found === 'string' ? ageOf(found, now) : null;
  }
}

/** As kubectl prints values: numbers below 0.0001 in scientific notation. */
function textOf(found: unknown): string {
  if (typeof found !== 'number' || found === 0 || Math.abs(found) >= 1e-4) return jsonText(found);
  return exponentText(found);
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** `5d`; `<unknown>` for a time that is not set, `<invalid>` for what is no time. */
function ageOf(time: string, now: number): string {
  if (time === '' || time === 'null' || time === zeroTime) return '<unknown>';
  return rfc3339.test(time) ? humanDuration(now - Date.parse(time)) : '<invalid>';
}

const zeroTime = '0001-01-01T00:00:00Z';

function shown(found: unknown, { as, absent }: CellPath, now: number): Cell {
  if (as === 'count') return Object.keys(Object(found)).length;
  if (as === 'age')
    return Number.isNaN(Date.parse(String(found))) ? absent : humanDuration(now - Date.parse(String(found)));
  return typeof found === 'number' || typeof found === 'boolean' || typeof found === 'string' ? found : jsonText(found);
}

/** The row of an object. */
export function tableRow(object: ApiObject, options: TableOptions): TableRow {
  const cells = columnsOf(options).map(({ value }) => cellOf(value, object, options.now));
  const conditions = options.conditionsOf?.(object) ?? [];
  return { cells, ...(conditions.length > 0 && { conditions }), object: included(object, options) };
}

function included(object: ApiObject, { includeObject, metaVersion }: TableOptions): TableRow['object'] {
  switch (includeObject) {
    case 'None':
      return null;
    case 'Metadata':
      return partialObjectMetadata(object, metaVersion);
    case 'Object':
      return object;
  }
}

/**
 * The table of one object, for the response to a GET or a write, or for a watch event; only the first event has `headers`.
 */
export const tableOf = (object: ApiObject, options: TableOptions, headers: 'shown' | 'omitted' = 'shown'): Table => ({
  ...tableHead(
    object.metadata.resourceVersion === undefined ? {} : { resourceVersion: object.metadata.resourceVersion },
    options,
    headers,
  ),
  rows: [tableRow(object, options)],
});

/** A table without `rows`, its last field. */
export const tableHead = (
  metadata: ListMetadata,
  options: TableOptions,
  headers: 'shown' | 'omitted' = 'shown',
): Omit<Table, 'rows'> => ({
  kind: 'Table',
  apiVersion: options.metaVersion,
  metadata,
  columnDefinitions: headers === 'shown' ? columnDefinitions(options) : null,
});
