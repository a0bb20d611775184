/** Loaded before each test file: a file that does not end by itself, whatever its cases say, fails and tells what it still holds. */

const fileMsMax = 15 * 60_000;

// Alone it keeps no process alive: it fires only where something else does.
setTimeout(() => {
  process.stderr.write(
    `still open after ${fileMsMax / 60_000} minutes: ${process.getActiveResourcesInfo().join(' ')}\n`,
  );
  process.exit(1);
}, fileMsMax).unref();
