import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { build } from '../tools/build.ts';

/**
 * Makes a copy of the package as npm would install it, launcher and bundle without sources, and gives the path of its
 * launcher. So what is measured is what users run, and edits made meanwhile change nothing.
 */
export async function makeShippedPackage(root: string, target: string): Promise<string> {
  mkdirSync(join(target, 'bin'), { recursive: true });
  const linked = ['src', 'node_modules', 'package.json'];
  for (const name of linked) symlinkSync(join(root, name), join(target, name));
  await build(target);
  rmSync(join(target, 'src'));
  const launcher = join(target, 'bin/orch');
  cpSync(join(root, 'bin/orch'), launcher);
  return launcher;
}
