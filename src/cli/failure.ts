import { StoreError, type StoreErrorCode } from '../store/store.ts';
import { UsageError } from './usage-error.ts';

/** Advice for store errors that the store cannot give itself. */
const remedies: Partial<Readonly<Record<StoreErrorCode, string>>> = {
  corrupt: 'put the data aside and make new data of a backup: orch restore',
  full: 'make room and start again; nothing that was acknowledged is lost',
};

/** Errors that indicate a bug, to be shown with the stack. */
const bugs: readonly (new (...args: never[]) => Error)[] = [TypeError, RangeError, ReferenceError, SyntaxError];

/**
 * Formats an error for the user: one line, including causes that the message does not contain. Bugs are followed by the
 * stack.
 */
export function describeFailure(command: string, error: unknown): string {
  if (!(error instanceof Error)) return `${command}: ${oneLine(String(error))}\n`;
  const line = `${command}: ${failureText(error)}\n`;
  const isBug = !(error instanceof UsageError) && bugs.some((kind) => error instanceof kind) && !('code' in error);
  return isBug ? `${line}${error.stack}\n` : line;
}

/** The same without the command and the stack. */
export function failureText(error: Error): string {
  const remedy = error instanceof StoreError ? (error.remedy ?? remedies[error.code]) : undefined;
  return oneLine([...messages(error), ...(remedy === undefined ? [] : [remedy])].join(': '));
}

/** The messages of an error and its causes, without those contained in an earlier one. */
function messages(error: Error): string[] {
  const result = [error.message];
  let cause: unknown = error.cause;
  while (cause instanceof Error && result.length < 5) {
    if (!result.some((message) => message.includes((cause as Error).message))) result.push(cause.message);
    cause = cause.cause;
  }
  return result;
}

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, ' ');
