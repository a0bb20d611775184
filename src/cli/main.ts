import { runCommandLine } from './run-command-line.ts';

// A reader such as `head` may close our output early: that is no error.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const code = await runCommandLine(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  interactive: process.stderr.isTTY === true,
});
process.exit(code);
