import { createLogger, type Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Terminal } from '../commands/command.ts';
import { choice, integer, orUndefined } from './flags.ts';

/** The log flags, for every command with a log. */
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

/** From this verbosity on, a server logs each request. */
const requestVerbosity = 2;

export const logsRequests = ({ v }: Pick<LogValues, 'v'>): boolean => v >= requestVerbosity;

/** From this verbosity on, debug messages are logged. */
const debugVerbosity = 4;

interface LogValues {
  readonly 'logging-format': 'json' | 'text' | undefined;
  readonly v: number;
}

/** The logger of a command, which writes to standard error so that standard output stays free for results. */
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
