import type { ApiObject } from '../meta/api-object.ts';
import { describeFieldError, invalid } from '../meta/field-error.ts';
import { badRequest } from '../meta/status-error.ts';
import { type ListMetadata, type PartialObjectMetadata, partialObjectMetadata } from './partial-object-metadata.ts';

/**
 * Tables: objects as rows of cells for people to read, made by the server (spec section 4.3), so that a client can show
 * kinds that it does not know.
 */

/** A column as a kind describes it. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** 0 is always shown, more only in wide output; the client chooses. */
  readonly priority: number;
  /** `now` in milliseconds. */
  readonly value: (object: ApiObject, now: number) => Cell;
}

type Cell = string | number | boolean | null;

/** What stands in a row beside its cells. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

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

export type ColumnDefinition = Omit<TableColumn, 'value'>;

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
    value: ({ metadata }) => metadata.name ?? '',
  },
  {
    name: 'Created At',
    type: 'date',
    format: '',
    description: 'When the object was created.',
    priority: 0,
    value: ({ metadata }) => metadata.creationTimestamp ?? null,
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

/** The row of an object. */
export function tableRow(object: ApiObject, options: TableOptions): TableRow {
  const cells = columnsOf(options).map(({ value }) => value(object, options.now));
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
