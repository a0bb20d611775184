import { errorOutput } from './error-output.ts';
import { runCommandLine } from './run-command-line.ts';

// A reader such as `head` may close our output early: that is no error.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const output = errorOutput();
const code = await runCommandLine(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: output.write,
  interactive: process.stderr.isTTY === true,
});
await output.flush();
process.exit(code);
