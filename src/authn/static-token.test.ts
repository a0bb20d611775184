import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseTokenFile, TokenFileError } from './static-token.ts';

const read = (text: string) =>
  parseTokenFile(text, 'tokens.csv').map(({ token, user }) => [token, user.username, user.uid, ...user.groups]);

for (const [name, text, expected] of [
  ['nothing', '', []],
  ['three columns', 't,jane,1', [['t', 'jane', '1']]],
  ['an empty uid', 't,jane,\n', [['t', 'jane', '']]],
  ['one group', 't,jane,1,dev\n', [['t', 'jane', '1', 'dev']]],
  ['groups in quotes', 't,jane,1,"dev, ops"\r\n', [['t', 'jane', '1', 'dev', 'ops']]],
  ['no groups', 't,jane,1,""', [['t', 'jane', '1']]],
  [
    'several lines, some empty',
    '\n\na,x,1\n\nb,y,2\n\n',
    [
      ['a', 'x', '1'],
      ['b', 'y', '2'],
    ],
  ],
  ['quotes, commas and line breaks in a name', 't,"a ""b"", c\nd",1', [['t', 'a "b", c\nd', '1']]],
  ['a byte order mark', '\ufefft,jane,1', [['t', 'jane', '1']]],
  ['a token with an equals sign', 'a+/b==,jane,1', [['a+/b==', 'jane', '1']]],
] as const) {
  it(`reads ${name}`, () => assert.deepEqual(read(text), expected));
}

for (const [name, text, message] of [
  ['too few columns', 'a,x,1\n\nt,jane\n', /^tokens\.csv:3: 2 columns/],
  ['too many columns', 't,jane,1,dev,ops', /^tokens\.csv:1: 5 columns.*quotes/],
  ['an empty token', ',jane,1', /^tokens\.csv:1: the token is empty/],
  ['an empty user name', 't,,1', /^tokens\.csv:1: the user name is empty/],
  ['an empty group', 't,jane,1,"a,,b"', /^tokens\.csv:1: the name of a group is empty/],
  ['a token that a header cannot carry', '"a b",jane,1', /^tokens\.csv:1: the token has characters/],
  ['a token twice', 'a,"x\ny",1\nb,y,2\na,z,3', /^tokens\.csv:4: the token is that of line 1 too/],
  ['a quote within a column', 'a,x,1\nt,ja"ne,1', /^tokens\.csv:2: a quote/],
  ['text behind a closing quote', 't,"jane"x,1', /^tokens\.csv:1: a quote/],
  ['a quote that is not closed', 'a,x,1\nt,"jane,1\n', /^tokens\.csv:2: a quote/],
] as const) {
  it(`refuses ${name}`, () => {
    assert.throws(
      () => parseTokenFile(text, 'tokens.csv'),
      (error) => error instanceof TokenFileError && message.test(error.message),
    );
  });
}

it('does not put the token into the error', () => {
  assert.throws(
    () => parseTokenFile('hush,jane,1\nhush,jane,1', 'tokens.csv'),
    (error) => error instanceof Error && !error.message.includes('hush'),
  );
});
