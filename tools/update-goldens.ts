import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { currentDocuments, recorded } from './goldens.ts';

/** Writes the golden files anew: `node tools/update-goldens.ts`. Look at the difference before you commit it. */
for (const golden of await currentDocuments()) {
  if (recorded(golden) === golden.text) continue;
  mkdirSync(dirname(golden.file), { recursive: true });
  writeFileSync(golden.file, golden.text);
  process.stdout.write(`${relative(process.cwd(), golden.file)}\n`);
}
