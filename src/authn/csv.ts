/** One record of a CSV text. */
export interface CsvRecord {
  /** First line of the record, starting at 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

export class CsvError extends Error {
  readonly line: number;

  constructor(line: number, problem: string) {
    super(problem);
    this.name = 'CsvError';
    this.line = line;
  }
}

/** A quoted (RFC 4180 section 2) or unquoted field, and its delimiter. */
const fieldPattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;

/** Parses RFC 4180. Skips empty lines and a byte order mark; records may have different lengths. Throws a CsvError. */
export function parseCsv(text: string): CsvRecord[] {
  const body = text.replace(/^\ufeff/, '');
  const records: CsvRecord[] = [];
  let fields: string[] = [];
  let [line, lineOfRecord] = [1, 1];
  fieldPattern.lastIndex = 0;
  while (fieldPattern.lastIndex < body.length || fields.length > 0) {
    const match = fieldPattern.exec(body);
    if (!match) throw new CsvError(line, 'a quote is in the middle of a column or is not closed');
    const [whole, quoted, plain = '', end] = match;
    fields.push(quoted?.replaceAll('""', '"') ?? plain);
    line += whole.split('\n').length - 1;
    if (end === ',') continue;
    if (fields.length > 1 || fields[0] !== '') records.push({ line: lineOfRecord, fields });
    fields = [];
    lineOfRecord = line;
  }
  return records;
}
