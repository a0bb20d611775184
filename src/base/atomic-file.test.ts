import assert from 'node:assert/strict';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createFile, makePrivateDirectory, namesSynced, privateMode, replaceFile } from './atomic-file.ts';

let area: string;
beforeEach(() => {
  area = mkdtempSync(join(tmpdir(), 'atomic-'));
});
afterEach(() => rmSync(area, { recursive: true }));

const at = (name: string): string => join(area, name);
const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('makePrivateDirectory', () => {
  test('makes all that is missing, for the owner only', () => {
    makePrivateDirectory(at('a/b/c'));
    for (const each of ['a', 'a/b', 'a/b/c']) assert.equal(modeOf(at(each)), 0o700, each);
  });

  test('leaves an existing one unchanged, also behind a link', () => {
    mkdirSync(at('open'));
    chmodSync(at('open'), 0o755);
    symlinkSync(at('open'), at('link'));
    makePrivateDirectory(at('open'));
    makePrivateDirectory(at('link'));
    assert.equal(modeOf(at('open')), 0o755);
  });

  for (const [what, path] of [
    ['in its place', 'file'],
    ['above it', 'file/below'],
    ['further above it', 'file/below/further'],
  ] as const) {
    test(`says that there is a file ${what}`, () => {
      writeFileSync(at('file'), 'mine');
      assert.throws(() => makePrivateDirectory(at(path)), /the directory .*file.* cannot be made: there is a file in/);
      assert.equal(readFileSync(at('file'), 'utf8'), 'mine');
    });
  }
});

describe('replaceFile', () => {
  test('creates a private file, and replaces it atomically', () => {
    replaceFile(at('f'), 'first');
    assert.equal(modeOf(at('f')), privateMode);
    const before = statSync(at('f')).ino;
    linkSync(at('f'), at('held'));
    replaceFile(at('f'), 'second');
    assert.equal(readFileSync(at('f'), 'utf8'), 'second');
    assert.notEqual(statSync(at('f')).ino, before, 'a new file in the place of the old one');
    assert.equal(readFileSync(at('held'), 'utf8'), 'first', 'who has the old one open still reads it');
    assert.deepEqual(readdirSync(area).sort(), ['f', 'held']);
  });

  test('writes nothing where the content and the mode are there already', () => {
    replaceFile(at('f'), 'same');
    const before = statSync(at('f')).ino;
    replaceFile(at('f'), 'same');
    assert.equal(statSync(at('f')).ino, before);
  });

  test('puts the mode right where only that differs', () => {
    writeFileSync(at('f'), 'same', { mode: 0o644 });
    chmodSync(at('f'), 0o644);
    replaceFile(at('f'), 'same');
    assert.equal(modeOf(at('f')), privateMode);
    replaceFile(at('f'), 'same', { mode: 0o400 });
    assert.equal(modeOf(at('f')), 0o400);
  });

  test('replaces a link, not what it leads to', () => {
    writeFileSync(at('target'), 'other');
    symlinkSync(at('target'), at('f'));
    replaceFile(at('f'), 'own');
    assert.equal(readFileSync(at('target'), 'utf8'), 'other');
    assert.equal(lstatSync(at('f')).isSymbolicLink(), false);
  });

  test('says what could not be written, and leaves nothing behind', () => {
    mkdirSync(at('taken/by'), { recursive: true });
    assert.throws(() => replaceFile(at('taken'), 'x'), /taken cannot be written: /);
    assert.throws(() => replaceFile(at('nowhere/f'), 'x'), /nowhere\/f cannot be written: .*ENOENT/);
    assert.deepEqual(readdirSync(area), ['taken']);
  });
});

describe('createFile', () => {
  test('creates a private file if there is none', () => {
    assert.equal(createFile(at('f'), 'mine'), true);
    assert.equal(readFileSync(at('f'), 'utf8'), 'mine');
    assert.equal(modeOf(at('f')), privateMode);
    assert.deepEqual(readdirSync(area), ['f']);
  });

  test('leaves a file that another process created first', () => {
    writeFileSync(at('f'), 'theirs');
    assert.equal(createFile(at('f'), 'mine'), false);
    assert.equal(readFileSync(at('f'), 'utf8'), 'theirs');
    assert.deepEqual(readdirSync(area), ['f']);
  });

  test('fails where the file cannot be made at all', () => {
    assert.throws(() => createFile(at('nowhere/f'), 'x'), /nowhere\/f cannot be written: .*ENOENT/);
  });
});

describe('namesSynced', () => {
  test('resolves when directories are synced, and tells once of one that is not', async () => {
    // Directories of the tests before are gone.
    await namesSynced().catch(() => {});
    createFile(at('f'), 'x');
    replaceFile(at('g'), 'y');
    await namesSynced();
    makePrivateDirectory(at('gone'));
    createFile(at('gone/f'), 'x');
    replaceFile(at('gone/g'), 'y', { isTransient: true });
    rmSync(at('gone'), { recursive: true });
    await assert.rejects(namesSynced(), { code: 'ENOENT' });
    await namesSynced();
  });
});
