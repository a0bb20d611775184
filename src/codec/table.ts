import { jsonText } from '../base/json-text.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { describeFieldError, invalid } from '../meta/field-error.ts';
import { type JsonPath, parseJsonPath } from '../meta/json-path.ts';
import { badRequest } from '../meta/status-error.ts';
import { humanDuration } from '../schema/time.ts';
import { type ListMetadata, type PartialObjectMetadata, partialObjectMetadata } from './partial-object-metadata.ts';

/**
 * Tables: objects as rows of cells for people to read, made by the server (spec section 4.3), so that a client can show
 * kinds that it does not know.
 */

/** A column as a kind describes it. */
interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0 is always shown, more only in wide output; the client chooses. */
  readonly priority: number;
  readonly value: CellSource;
}

type Cell = string | number | boolean | null;

/** Where a cell comes from: a path, or a function where no path can say it. `now` in milliseconds. */
export type CellSource = CellPath | ((object: ApiObject, now: number) => Cell);

export interface CellPath {
  /** The first value that a JSON path finds. */
  readonly path: string;
  /** `age` shows a time as `5d`, `count` how many elements or members there are. */
  readonly as?: 'age' | 'count';
  /** Shown where there is no value, or ''. */
  readonly absent: Cell;
}

/** What stands in a row beside its cells. */
type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  /** Empty for the default ones: name and creation time. */
  readonly columns: readonly TableColumn[];
  readonly includeObject: IncludeObject;
  /** Group and version of the form, such as `meta.orch.io/v1`. */
  readonly metaVersion: string;
  /** Milliseconds; ages in cells are counted up to here. */
  readonly now: number;
}

export interface Table {
  readonly kind: 'Table';
  readonly apiVersion: string;
  readonly metadata: ListMetadata;
  /** null in the events of a watch after the first one: the columns have been told. */
  readonly columnDefinitions: readonly ColumnDefinition[] | null;
  readonly rows: readonly TableRow[];
}

type ColumnDefinition = Omit<TableColumn, 'value'>;

export interface TableRow {
  readonly cells: readonly Cell[];
  readonly object: ApiObject | PartialObjectMetadata | null;
}

/** Reads the `includeObject` parameter of a request for a table; absent and empty are `Metadata`. Throws BadRequest. */
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

/** What a column shows of an object. */
export function cellOf(source: CellSource, object: ApiObject, now: number): Cell {
  if (typeof source === 'function') return source(object, now);
  let path = paths.get(source);
  if (!path) {
    path = parseJsonPath(source.path);
    paths.set(source, path);
  }
  const [found] = path.find(object);
  return found === undefined || found === '' ? source.absent : shown(found, source, now);
}

function shown(found: unknown, { as, absent }: CellPath, now: number): Cell {
  if (as === 'count') return Object.keys(Object(found)).length;
  if (as === 'age')
    return Number.isNaN(Date.parse(String(found))) ? absent : humanDuration(now - Date.parse(String(found)));
  return typeof found === 'number' || typeof found === 'boolean' || typeof found === 'string' ? found : jsonText(found);
}

/** The row of an object. */
export function tableRow(object: ApiObject, options: TableOptions): TableRow {
  const cells = columnsOf(options).map(({ value }) => cellOf(value, object, options.now));
  return { cells, object: included(object, options) };
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
 * The table of one object: the answer to a GET or a write, or the object of a watch event, where only the first event
 * has `headers`.
 */
export const tableOf = (object: ApiObject, options: TableOptions, headers: 'shown' | 'omitted' = 'shown'): Table => ({
  ...tableHead(
    object.metadata.resourceVersion === undefined ? {} : { resourceVersion: object.metadata.resourceVersion },
    options,
    headers,
  ),
  rows: [tableRow(object, options)],
});

/** All of a table but its rows, which are its last field. */
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
