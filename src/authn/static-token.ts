import { hash } from 'node:crypto';
import type { UserInfo } from '../request/user-info.ts';
import { asAuthenticated, type TokenAuthenticator } from './authenticator.ts';
import { CsvError, type CsvRecord, parseCsv } from './csv.ts';

/** A token that is valid as long as the server runs (spec section 5.2). */
export interface StaticToken {
  readonly token: string;
  readonly user: UserInfo;
}

/** An invalid line of a token file. The message names file and line and never contains the token. */
export class TokenFileError extends Error {
  constructor(file: string, line: number, problem: string) {
    super(`${file}:${line}: ${problem}`);
    this.name = 'TokenFileError';
  }
}

/**
 * Parses a token file. Each line is `token,user,uid`, optionally followed by `"group1,group2"`. Throws a TokenFileError
 * for anything ambiguous, because a skipped or misread line would silently lock a user out or let one in.
 */
export function parseTokenFile(text: string, file: string): StaticToken[] {
  const lines = new Map<string, number>();
  return readCsv(text, file).map((record) => {
    const problem = findProblem(record) ?? findDuplicate(record, lines);
    if (problem !== undefined) throw new TokenFileError(file, record.line, problem);
    const [token = '', username = '', uid = '', groups = ''] = record.fields;
    lines.set(token, record.line);
    return { token, user: { username, uid, groups: splitGroups(groups), extra: {} } };
  });
}

function readCsv(text: string, file: string): readonly CsvRecord[] {
  try {
    return parseCsv(text);
  } catch (error) {
    if (error instanceof CsvError) throw new TokenFileError(file, error.line, error.message);
    throw error;
  }
}

function findProblem({ fields }: CsvRecord): string | undefined {
  if (fields.length < 3) return `${fields.length} columns where at least token, user name and uid are wanted`;
  if (fields.length > 4) return `${fields.length} columns where 4 are known: several groups stand in quotes, "one,two"`;
  const [token = '', username = '', , groups = ''] = fields;
  if (token === '') return 'the token is empty';
  if (!/^[\x21-\x7e]+$/.test(token)) return 'the token has characters that a bearer token cannot have';
  if (username === '') return 'the user name is empty';
  if (splitGroups(groups).includes('')) return 'the name of a group is empty';
  return undefined;
}

function findDuplicate({ fields: [token = ''] }: CsvRecord, lines: ReadonlyMap<string, number>): string | undefined {
  const before = lines.get(token);
  return before === undefined ? undefined : `the token is that of line ${before} too`;
}

const splitGroups = (column: string): readonly string[] =>
  column === '' ? [] : column.split(',').map((group) => group.trim());

/** Authenticates static tokens. Looks them up by hash, so that the timing reveals nothing about a token. */
export function staticTokenAuthenticator(tokens: readonly StaticToken[]): TokenAuthenticator {
  const users = new Map(tokens.map(({ token, user }) => [digest(token), { user: asAuthenticated(user) }]));
  return { authenticateToken: (token) => users.get(digest(token)) };
}

const digest = (token: string): string => hash('sha256', token, 'base64');
