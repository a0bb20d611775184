import type { Clock } from '../base/clock.ts';
import { createLogger, type Logger } from '../base/logger.ts';
import type { Terminal } from './command.ts';
import { choice, integer, orUndefined } from './flags.ts';

/** The flags of the log, for every command that has one. */
export const loggingFlags = {
  'logging-format': orUndefined(
    choice({
      of: ['json', 'text'],
      default: 'json',
      defaultText: 'text for up, otherwise json',
      help: 'what a line of the log is: a JSON object, or text',
    }),
  ),
  v: integer({
    min: 0,
    max: 10,
    default: 0,
    help: 'detail of the log; from 2 on a server writes a line for each request, from 4 on for finding errors',
  }),
} as const;

/** From here on a server's log has a line for each request. */
const requestVerbosity = 2;

export const logsRequests = ({ v }: Pick<LogValues, 'v'>): boolean => v >= requestVerbosity;

/** From here on the log tells every step. */
const debugVerbosity = 4;

interface LogValues {
  readonly 'logging-format': 'json' | 'text' | undefined;
  readonly v: number;
}

/** The log of a command: on standard error, so that what is for people or pipes stays apart. */
export const commandLogger = (
  values: LogValues,
  format: 'json' | 'text',
  { clock, terminal }: { readonly clock: Clock; readonly terminal: Terminal },
): Logger =>
  createLogger({
    level: values.v >= debugVerbosity ? 'debug' : 'info',
    format: values['logging-format'] ?? format,
    clock,
    write: terminal.err,
  });
