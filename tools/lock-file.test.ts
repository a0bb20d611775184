import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';

interface Package {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const read = (name: string) => JSON.parse(readFileSync(resolve(import.meta.dirname, '..', name), 'utf8'));

/** By path within the project; '' is the project. */
const locked: Readonly<Record<string, Package>> = read('package-lock.json').packages;

/** As the module loader looks for it: next to who needs it, then further up. */
function found(path: string, name: string): Package | undefined {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const here = locked[`${at === '' ? '' : `${at}/`}node_modules/${name}`];
    if (here || at === '') return here;
  }
}

/** What `npm ci` insists on. A registry that lacks packages of other platforms makes `npm install` leave them out. */
describe('the lock file', () => {
  it('is that of package.json', () => {
    const { dependencies, devDependencies, optionalDependencies } = read('package.json');
    const root = locked[''];
    assert.deepEqual(root?.dependencies, dependencies);
    assert.deepEqual(root?.devDependencies, devDependencies);
    assert.deepEqual(root?.optionalDependencies, optionalDependencies);
  });

  it('has every package that one of its packages needs, those of other platforms too', () => {
    const missing = Object.entries(locked).flatMap(([path, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => !found(path, name))
        .map((name) => `${path}: ${name}`),
    );
    assert.deepEqual(missing, []);
  });
});
