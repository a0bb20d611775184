import { createLogger, debugVerbosity, type Logger } from '../../base/logger.ts';
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
    max: 2 ** 31 - 1,
    default: 0,
    help: 'detail of the log; from 3 on a server writes a line for each request, from 4 on for finding errors',
  }),
} as const;

/** From this verbosity on, a server logs each request. */
const requestVerbosity = 3;

interface LogValues {
  readonly 'logging-format': 'json' | 'text' | undefined;
  readonly v: number;
}

interface LogParts {
  readonly clock: Clock;
  readonly terminal: Terminal;
}

/** The logger of a command, which writes to standard error so that standard output stays free for results. */
export const commandLogger = (values: LogValues, format: 'json' | 'text', parts: LogParts): Logger =>
  createLogger({ ...output(values, format, parts), level: values.v >= debugVerbosity ? 'debug' : 'info' });

/** The loggers of a server: for what happens, and for a line of each request, whose number has no limit. */
export function serverLoggers(
  values: LogValues,
  format: 'json' | 'text',
  parts: LogParts,
): { readonly logger: Logger; readonly accessLog?: Logger } {
  const logger = commandLogger(values, format, parts);
  if (values.v < requestVerbosity) return { logger };
  const each = { level: 'info', verbosity: requestVerbosity, sameLinesPerSecondMax: 0 } as const;
  return { logger, accessLog: createLogger({ ...output(values, format, parts), ...each }) };
}

const output = (values: LogValues, format: 'json' | 'text', { clock, terminal }: LogParts) => ({
  format: values['logging-format'] ?? format,
  clock,
  write: terminal.err,
});
