import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { CelBudget } from './budget.ts';
import { type Cel, type CelEnvironment, loadCel } from './cel.ts';
import { compileInSteps } from './compile.ts';
import { CelCompileError, CelEvaluationError, CelInstantiationError } from './error.ts';
import { boolType, dynType, intType, listType, mapType, stringType, structType, typeName } from './type.ts';

const user = structType('UserInfo', {
  username: stringType,
  groups: listType(stringType),
  extra: mapType(stringType, listType(stringType)),
});

const environment: CelEnvironment = {
  claims: mapType(stringType, dynType),
  user,
  count: intType,
  words: listType(stringType),
};

const claims = JSON.parse(`{
  "sub": "alice", "email": "a@example.com", "email_verified": true, "level": 3, "ratio": 1.5, "none": null,
  "groups": ["dev", "ops"], "mixed": ["a", 1], "address": {"city": "Delft"}, "face": "\\ud83d\\ude00!", "empty": [],
  "__proto__": "own", "constructor": {"name": "data"}, "toString": 7
}`) as Record<string, unknown>;

const variables = {
  claims,
  user: { username: 'alice', groups: ['dev'], extra: {} },
  count: 2,
  words: ['b', 'a'],
};

let cel: Cel;
before(async () => {
  cel = await loadCel();
});

const evaluate = (source: string, given: Readonly<Record<string, unknown>> = variables): unknown =>
  cel.compile(source, environment).evaluate(given);

describe('compile', () => {
  const refused: readonly (readonly [source: string, message: RegExp])[] = [
    ['', /^1:1: unexpected the end$/],
    ['claims.', /^1:8: unexpected the end, expected a name$/],
    ['1 +\n  nothing', /^2:3: undeclared reference to 'nothing'$/],
    ['clams.sub == "a"', /^1:1: undeclared reference to 'clams'$/],
    ['claims.sub.nope()', /undeclared reference to 'nope'/],
    ['nope(1)', /undeclared reference to 'nope'/],
    ['1 + "a"', /^1:3: found no matching overload for '_\+_' applied to '\(int, string\)'$/],
    ['1 + 1.0', /applied to '\(int, double\)'/],
    ['1u + 1', /applied to '\(uint, int\)'/],
    ['count == "a"', /applied to '\(int, string\)'/],
    ['"a" in words && 1 in words', /'@in' applied to '\(int, list\(string\)\)'/],
    ['words.exists(w, w == 1)', /applied to '\(string, int\)'/],
    ['words.map(w, w + 1)', /applied to '\(string, int\)'/],
    ['words.filter(w, w)', /'_\?_:_' applied to '\(string, list\(string\), list\(string\)\)'/],
    ['"text".all(c, true)', /cannot be range of a comprehension/],
    ['words.exists(w.x, true)', /argument must be a simple name/],
    ['has(claims)', /invalid argument to has\(\) macro/],
    ['has(count.x)', /type 'int' does not support field selection/],
    ['user.name == "a"', /undefined field 'name'/],
    ['user.constructor == "a"', /undefined field 'constructor'/],
    ['user.username.x == ""', /type 'string' does not support field selection/],
    ['words["a"] == ""', /'_\[_\]' applied to '\(list\(string\), string\)'/],
    ['true ? 1 : "a"', /'_\?_:_' applied to '\(bool, int, string\)'/],
    ['1 ? 2 : 3', /'_\?_:_' applied to '\(int, int, int\)'/],
    ['true && 1', /expected type 'bool' but found 'int'/],
    ['[1, "a"]', /^1:5: expected type 'int' but found 'string'$/],
    ['{"a": 1, "b": "c"}', /expected type 'int' but found 'string'/],
    ['claims.sub == "a" &&', /unexpected the end/],
    ['"open', /a string that does not end/],
    ["'a\nb'", /a string that does not end/],
    [String.raw`"\q"`, /no escape sequence: \\q/],
    [String.raw`"\ud800"`, /no escape sequence here/],
    ['9223372036854775808', /^1:1: invalid int literal$/],
    ['1 + -9223372036854775809', /^1:5: invalid int literal$/],
    ['18446744073709551616u', /^1:1: invalid uint literal$/],
    ['1e400', /^1:1: invalid double literal$/],
    ['- 1.0e309', /^1:1: invalid double literal$/],
    ['a # b', /unexpected "#"/],
    ['if', /reserved identifier: if/],
    ['claims.in', /reserved identifier: in/],
    ['[1,,2]', /unexpected ","/],
    ['claims.sub.matches("(")', /^1:20: invalid matches argument$/],
    ['claims.sub.matches("(?=a)")', /invalid matches argument/],
    ['duration("soon")', /invalid duration argument/],
    ['timestamp("2024-02-30T00:00:00Z")', /invalid timestamp/],
    ['timestamp(253402300800)', /^1:11: invalid timestamp argument$/],
    ['duration("99999999999h")', /^1:10: invalid duration argument$/],
    ['claims.sub.split(",", "x")', /no matching overload for 'split' applied to 'dyn\.\(string, string\)'/],
    ['__proto__', /undeclared reference/],
    ['constructor', /undeclared reference/],
    ['claims.sub.toString()', /undeclared reference to 'toString'/],
    ['claims.groups.push("root")', /undeclared reference to 'push'/],
    ['hasOwnProperty("a")', /undeclared reference to 'hasOwnProperty'/],
  ];
  for (const [source, message] of refused) {
    it(`refuses ${JSON.stringify(source)}`, () => {
      assert.throws(() => cel.compile(source, environment), { name: 'CelCompileError', message });
    });
  }

  const withoutProgram: readonly (readonly [source: string, reason: string])[] = [
    ['int("x")', "type conversion error from 'string' to 'int'"],
    ['int("9223372036854775808")', "type conversion error from 'string' to 'int'"],
    ['int(9.3e18)', 'integer overflow'],
    ['int(9223372036854775808u)', 'integer overflow'],
    ['uint("-1")', "type conversion error from 'string' to 'uint'"],
    ['uint(-1)', 'unsigned integer overflow'],
    ['uint(-1.5)', 'unsigned integer overflow'],
    ['double("1e999")', "type conversion error from 'string' to 'double'"],
    ['double("1__0")', "type conversion error from 'string' to 'double'"],
    ['double("0x1")', "type conversion error from 'string' to 'double'"],
    ['bool("tRUE")', "type conversion error from 'string' to 'bool'"],
    [String.raw`string(b"\xff")`, 'invalid UTF-8 in bytes, cannot convert to string'],
    ['int(string(dyn("x")))', "type conversion error from 'string' to 'int'"],
    ['false && [1].all(x, int("x") == x)', "type conversion error from 'string' to 'int'"],
    ['uint("y") == uint(int("x"))', "type conversion error from 'string' to 'uint'"],
    ['claims.sub.find("(")', 'error parsing regexp: missing closing ): `(`'],
    ['claims.sub.findAll("[", 1)', 'error parsing regexp: missing closing ]: `[`'],
  ];
  for (const [source, reason] of withoutProgram) {
    it(`makes no program of ${source}`, () => {
      assert.throws(() => cel.compile(source, environment), { name: 'CelInstantiationError', reason });
    });
  }

  it('tells the type of what becomes no program', () => {
    assert.throws(
      () => cel.compile('int("x") == 1', environment),
      (error) => error instanceof CelInstantiationError && error.type.kind === 'bool',
    );
  });

  it('leaves other operations on constants to the evaluation', () => {
    for (const source of ['1 / 0', '[1][5]', '{"a": 1}.b', '"a".matches("(" + "")', '9223372036854775807 + 1']) {
      assert.equal(cel.compile(source, environment).source, source);
    }
  });

  it('tells where an error is', () => {
    assert.throws(
      () => cel.compile('true &&\n count', environment),
      (error) => error instanceof CelCompileError && error.position?.line === 2 && error.position.column === 2,
    );
  });

  it('requires the type of the result, which dyn does not satisfy', () => {
    const returns = [boolType];
    assert.equal(typeName(cel.compile('claims.sub == "a"', environment, { returns }).type), 'bool');
    assert.throws(() => cel.compile('claims.admin', environment, { returns }), /must evaluate to bool but got dyn/);
    assert.throws(
      () => cel.compile('count', environment, { returns: [stringType, listType(stringType)] }),
      /must evaluate to string or list\(string\) but got int/,
    );
  });

  const types: readonly (readonly [source: string, type: string])[] = [
    ['claims.sub', 'dyn'],
    ['claims.?sub', 'optional_type(dyn)'],
    ['claims.?sub.orValue("")', 'dyn'],
    ['user.groups', 'list(string)'],
    ['user.groups[0]', 'string'],
    ['user.extra["a/b"]', 'list(string)'],
    ['words.map(w, w.size())', 'list(int)'],
    ['words.map(w, {w: 1})', 'list(map(string, int))'],
    ['[]', 'list(dyn)'],
    ['[[], ["a"]]', 'list(list(string))'],
    ['user.groups + claims.groups', 'list(string)'],
    ['claims.level + 1', 'int'],
    ['claims.sub + claims.sub', 'dyn'],
    ['"a,b".split(",")', 'list(string)'],
    ['words.transformMap(i, w, w.size())', 'map(int, int)'],
    ['optional.of(1).optMap(x, string(x))', 'optional_type(string)'],
    ['true ? claims.sub : "x"', 'dyn'],
    ['type(1)', 'type'],
  ];
  for (const [source, type] of types) {
    it(`finds ${type} for ${source}`, () => assert.equal(typeName(cel.compile(source, environment).type), type));
  }
});

describe('evaluate', () => {
  const values: readonly (readonly [source: string, value: unknown])[] = [
    ['claims.sub', 'alice'],
    ['claims.level', 3n],
    ['claims.level + 1', 4n],
    ['claims.level == 3.0', true],
    ['claims.ratio * 2.0', 3],
    ['claims.none', null],
    ['claims.none == null', true],
    ['claims.groups', ['dev', 'ops']],
    ['claims.groups + ["x"]', ['dev', 'ops', 'x']],
    ['claims.address.city', 'Delft'],
    ['claims["sub"]', 'alice'],
    ['has(claims.sub)', true],
    ['has(claims.sup)', false],
    ['has(claims.none)', true],
    ['has(claims.address.city)', true],
    ['claims.?email_verified.orValue(true)', true],
    ['claims.?missing.orValue(true)', true],
    ['claims.?missing.?deeper.orValue("x")', 'x'],
    ['claims[?"sub"].hasValue()', true],
    ['claims.groups[?5].orValue("none")', 'none'],
    ['claims.?groups.optMap(g, g.size()).orValue(0)', 2n],
    ['[?claims.?missing, ?claims.?sub]', ['alice']],
    ['"dev" in claims.groups', true],
    ['"sub" in claims', true],
    ['claims.groups.exists(g, g.startsWith("o"))', true],
    ['claims.groups.all(g, g.size() == 3)', true],
    ['claims.groups.exists_one(g, g == "dev")', true],
    ['claims.groups.filter(g, g != "dev")', ['ops']],
    ['claims.groups.map(g, "oidc:" + g)', ['oidc:dev', 'oidc:ops']],
    ['claims.groups.map(g, g == "dev", g.upperAscii())', ['DEV']],
    ['claims.groups.transformList(i, g, g + string(i))', ['dev0', 'ops1']],
    [
      'words.map(a, words.map(b, a + b))',
      [
        ['bb', 'ba'],
        ['ab', 'aa'],
      ],
    ],
    ['claims.mixed.exists(m, m.startsWith("a"))', true],
    ['claims.missing == 1 || true', true],
    ['true || claims.missing == 1', true],
    ['claims.missing == 1 && false', false],
    ['claims.email.split("@")[1] == "example.com"', true],
    ['claims.email.lowerAscii().endsWith("@example.com")', true],
    ['claims.sub.substring(1, 3)', 'li'],
    ['claims.face.size()', 2n],
    ['claims.face.charAt(1)', '!'],
    ['claims.face.substring(0, 1).size()', 1n],
    ['"a-b-a".replace("a", "c", 1)', 'c-b-a'],
    ['"ab".replace("", "-")', '-a-b-'],
    ['" x ".trim()', 'x'],
    ['claims.groups.join("/")', 'dev/ops'],
    ['"%s has %d".format([claims.sub, claims.level])', 'alice has 3'],
    ['"user-12".find("[0-9]+")', '12'],
    ['"a1b2".findAll("[0-9]")', ['1', '2']],
    ['claims.sub.matches("^[a-z]+$")', true],
    ['url("https://a.example:8443/p?q=1&q=2").getPort()', '8443'],
    ['url("https://a.example/p?q=1&q=2").getQuery()["q"]', ['1', '2']],
    ['url("https://[::1]:80/a b").getHostname() + url("/a b").getEscapedPath()', '::1/a%20b'],
    ['isURL("../up")', false],
    ['sets.contains(claims.groups, ["ops"])', true],
    ['sets.intersects(claims.groups, ["x"])', false],
    ['[3, 1, 2].max() + [3, 1, 2].min() + [3, 1].sum()', 8n],
    ['words.isSorted()', false],
    ['words.indexOf("a")', 1n],
    ['cidr("10.0.0.0/8").containsIP("10.1.2.3")', true],
    ['string(ip("2001:DB8:0:0:1:0:0:1")) == "2001:db8::1:0:0:1"', true],
    ['ip.isCanonical("::ffff")', true],
    ['isIP("::ffff:1.2.3.4")', false],
    ['timestamp(claims.level) < timestamp("1970-01-01T00:00:04Z")', true],
    ['duration("1h30m") > duration("89m")', true],
    ['type(claims.level) == int', true],
    ['string(claims.level) + string(true) + string(1000000.0)', '3true1000000'],
    ['int("42")', 42n],
    ['-7 / 2', -3n],
    ['-7 % 2', -1n],
    ['words.exists(claims, claims == "a")', true],
    ['user.groups.size() == 1 && !has(user.extra.a)', true],
  ];
  for (const [source, value] of values) {
    it(source, () => assert.deepEqual(evaluate(source), value));
  }

  const numbers: readonly (readonly [text: string, value: number])[] = [
    ['1_0.5', 10.5],
    ['0x1.8p3', 12],
    ['-0X_1P-1', -0.5],
    ['0x.8p1', 1],
  ];
  for (const [text, value] of numbers) {
    it(`reads ${text} as a double`, () => assert.equal(evaluate(`double("${text}")`), value));
  }

  const failing: readonly (readonly [source: string, message: RegExp])[] = [
    ['claims.missing', /^no such key: missing$/],
    ['claims.sub.city', /^no such overload: string\.city$/],
    ['claims.none.x', /no such overload: null_type\.x/],
    ['has(claims.sub.x)', /no such overload/],
    ['claims.groups[2]', /index out of bounds/],
    ['claims.sub + 1', /no such overload/],
    ['claims.sub < 1', /no such overload/],
    ['claims.mixed.all(m, m.startsWith("a"))', /no such overload/],
    ['claims.mixed.map(m, m.size())', /no such overload/],
    ['claims.mixed.join(",")', /no such overload: join of int/],
    ['claims.sub && false || claims.missing', /no such/],
    ['9223372036854775807 + claims.level', /integer overflow/],
    ['claims.level / 0', /division by zero/],
    ['int(claims.sub)', /type conversion error/],
    ['claims.sub.substring(9)', /index out of range/],
    ['optional.none().value()', /dereference/],
    ['claims.groups.min() > 1', /no such overload/],
    ['claims.empty.max()', /empty list/],
    ['{claims.sub: 1, claims.sub: 2}', /a key stands twice/],
    ['claims.sub.matches(claims.face + "(")', /^invalid regular expression$/],
    ['claims.toString + "x"', /no such overload/],
    ['claims.level ? 1 : 2', /bool expected/],
  ];
  for (const [source, message] of failing) {
    it(`fails: ${source}`, () => {
      assert.throws(() => evaluate(source), { name: 'CelEvaluationError', message, code: 'failed' });
    });
  }

  it('does not reveal values of variables in errors', () => {
    const secret = { claims: { sub: 's3cret', key: 's3cret', groups: ['s3cret'] } };
    const sources = [
      'int(claims.sub)',
      'claims.sub.city',
      'claims[claims.key]',
      'timestamp(claims.sub)',
      'url("::" + claims.sub)',
      'claims.sub.matches("(" + claims.sub)',
      '"%d".format([claims.sub])',
      'claims.groups[3]',
      'ip(claims.sub)',
      '{claims.sub: 1, claims.key: 2}',
    ];
    for (const source of sources) {
      assert.throws(
        () => evaluate(source, secret),
        (error) => error instanceof CelEvaluationError && !error.message.includes('s3cret'),
        source,
      );
    }
  });

  it('reads numbers as servers in Go do', () => {
    const numbers = { claims: { safe: 2 ** 53 - 1, int: 2n ** 62n, beyond: 2n ** 64n, half: 0.5, great: 1e20 } };
    assert.equal(evaluate('claims.safe', numbers), BigInt(2 ** 53 - 1));
    assert.equal(evaluate('claims.int', numbers), 2n ** 62n);
    assert.equal(evaluate('claims.beyond', numbers), 2 ** 64);
    assert.equal(evaluate('claims.half', numbers), 0.5);
    assert.equal(evaluate('claims.great', numbers), 1e20);
  });

  it('does not expose JavaScript: its property names are data', () => {
    assert.equal(evaluate('claims.__proto__'), 'own');
    assert.equal(evaluate('claims.constructor.name'), 'data');
    assert.equal(evaluate('claims["toString"]'), 7n);
    const plain = { claims: {} };
    for (const name of ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'valueOf']) {
      assert.equal(
        evaluate(`has(claims.${name}) || "${name}" in claims || claims[?"${name}"].hasValue()`, plain),
        false,
      );
      assert.throws(() => evaluate(`claims.${name}`, plain), /no such key/);
    }
    assert.equal(evaluate('{"__proto__": {"polluted": true}}.size()'), 1n);
    assert.equal(evaluate('{"__proto__": 1}["__proto__"]'), 1n);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    assert.throws(() => evaluate('claims.groups.length'), /no such overload: list\.length/);
    assert.throws(() => evaluate('claims.sub.length'), /no such overload: string\.length/);
  });

  it('fails for a variable that was not given', () => {
    assert.throws(() => evaluate('claims.sub', {}), {
      name: 'CelEvaluationError',
      message: /no such attribute: claims/,
    });
    assert.throws(() => evaluate('claims.sub', Object.create({ claims })), /no such attribute/);
  });

  it('can be evaluated again, with other data', () => {
    const program = cel.compile('words.filter(w, w != user.username)', environment);
    assert.deepEqual(program.evaluate({ words: ['a', 'b'], user: { username: 'a' } }), ['b']);
    assert.deepEqual(program.evaluate({ words: ['a', 'b'], user: { username: 'b' } }), ['a']);
  });
});

describe('selects', () => {
  const sources: readonly (readonly [source: string, email: boolean])[] = [
    ['claims.email', true],
    ['claims.?email.orValue("")', true],
    ['has(claims.email)', true],
    ['claims.email.lowerAscii() == "a"', true],
    ['[{"a": claims.email}].size() == 1', true],
    ['words.exists(w, w == claims.email)', true],
    ['words.map(w, claims.email == w, w)', true],
    ['true ? "a" : claims.email', true],
    ['claims.?x.optMap(x, x + claims.email).orValue("")', true],
    ['words[claims.email == "" ? 0 : 1]', true],
    ['claims.sub', false],
    ['claims.email_verified', false],
    ['claims.address.email', false],
    ['"claims.email"', false],
    ['user.extra.email', false],
  ];
  for (const [source, email] of sources) {
    it(`${source}: ${email}`, () => {
      const program = cel.compile(source, environment);
      assert.equal(program.selects('claims', 'email'), email);
    });
  }

  it('finds a field whatever it is selected from', () => {
    assert.equal(cel.compile('claims.a.?labelSelector.hasValue()', environment).selectsField('labelSelector'), true);
    assert.equal(cel.compile('claims.labelSelectors', environment).selectsField('labelSelector'), false);
  });
});

describe('limits', () => {
  const hostile: readonly (readonly [what: string, source: string])[] = [
    ['parentheses', `${'('.repeat(10_000)}1${')'.repeat(10_000)}`],
    ['lists', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
    ['maps', `${'{1:'.repeat(10_000)}1${'}'.repeat(10_000)}`],
    ['negations', `${'!'.repeat(50_000)}true`],
    ['signs', `${'-'.repeat(50_000)}count`],
    ['sums', `1${'+1'.repeat(40_000)}`],
    ['selections', `claims${'.a'.repeat(40_000)}`],
    ['indices', `claims${'[0]'.repeat(30_000)}`],
    ['conditions', `${'true?1:'.repeat(10_000)}1`],
    ['calls', `${'size('.repeat(10_000)}""${')'.repeat(10_000)}`],
    ['macros', `${'[1].map(x,'.repeat(5_000)}1${')'.repeat(5_000)}`],
    ['methods', `"a"${'.trim()'.repeat(10_000)}`],
  ];
  for (const [what, source] of hostile) {
    it(`refuses ${what} that are nested too deeply`, () => {
      assert.throws(() => cel.compile(source, environment), { name: 'CelCompileError', message: /nested deeper than/ });
    });
  }

  it('refuses a long source', () => {
    const source = `"${'a'.repeat(limits.celSourceLengthMax)}"`;
    assert.throws(() => cel.compile(source, environment), { name: 'CelCompileError', message: /longer than/ });
  });

  it('accepts long lists of lists without elements', () => {
    assert.equal(evaluate(`[${Array(5_000).fill('[]').join(',')}].size()`), 5_000n);
  });

  it('refuses types that double with each macro', () => {
    const macros = Array.from({ length: 40 }, (_, at) => `[{a${at}: a${at}}].all(a${at + 1}, `);
    const source = `[1].all(a0, ${macros.join('')}true${')'.repeat(41)}`;
    assert.throws(() => cel.compile(source, environment), { name: 'CelCompileError', message: /type of more than/ });
  });

  for (const [what, source] of [
    ['many terms', Array(2_000).fill('1 == 1').join(' || ')],
    ['a long list', `[${Array(4_000).fill('1, ""').join(', ')}]`],
    ['many arguments', `size(${Array(4_000).fill('1').join(', ')})`],
    [
      'deep lists',
      Array(20)
        .fill(`${'['.repeat(200)}${']'.repeat(200)} == []`)
        .join(' || '),
    ],
  ] as const) {
    it(`pauses while it compiles ${what}`, () => {
      const steps = compileInSteps(source, {});
      for (let pauses = 0; pauses < 20; pauses++) assert.equal(steps.next().done, false);
    });
  }

  it('accepts long, flat expressions', () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `"user-${index}"`);
    assert.equal(evaluate(`claims.sub in [${names.join()}]`), false);
    assert.equal(evaluate(Array.from({ length: 5_000 }, () => 'count == 1').join('||')), false);
  });

  it('takes nesting up to the limit', () => {
    const depth = limits.celDepthMax - 1;
    assert.equal(evaluate(`${'('.repeat(depth)}1${')'.repeat(depth)}`), 1n);
  });

  const many = {
    claims: {
      groups: Array.from({ length: 3_000 }, (_, index) => `group-${index}`),
      long: 'a'.repeat(50_000),
      pattern: '(a?){500}'.repeat(30),
    },
  };
  const expensive: readonly string[] = [
    'claims.groups.all(a, claims.groups.all(b, claims.groups.all(c, a + b != c)))',
    'claims.groups.exists(a, claims.groups.exists(b, claims.missing == 1))',
    'claims.groups.all(a, (claims.missing == 1 || true) && claims.groups.all(b, claims.missing == 1 || true))',
    'claims.groups.map(a, claims.groups.map(b, a + b)).size() > 0',
    'claims.groups.all(a, claims.groups == claims.groups.map(x, x))',
    'claims.groups.all(a, claims.groups.all(b, {a: b} != {}))',
    'claims.long.replace("a", claims.long).size() > 0',
    'claims.long.replace("", claims.long).size() > 0',
    'claims.groups.join(claims.long).size() > 0',
    `"a"${'.split("").map(x, x + claims.long + claims.long).join("")'.repeat(30)}.size() > 0`,
    `[claims.long]${'.map(x, x + x)'.repeat(60)}.size() > 0`,
    `"${'%s'.repeat(2_000)}".format(claims.groups.map(g, claims.long)) != ""`,
    'claims.groups.all(a, claims.long.split("").size() > 0)',
    'claims.long.contains(claims.long + "b")',
    'claims.long.matches("(a?){1000}$")',
    'claims.long.find("(.*a){200}[b-z]") == ""',
    'claims.long.findAll("(a?b?c?d?){200}x") == []',
    'claims.long.findAll(".*z|a").size() > 0',
    'claims.groups.all(a, "x".matches(claims.pattern + a) || true)',
    'claims.groups.all(a, claims.groups.all(b, !a.matches("^(a?b?){100}$")))',
    'claims.groups.all(a, sets.contains(claims.groups, claims.groups))',
    'claims.groups.all(a, claims.groups.all(b, claims.long.size() > 0 && claims.long.charAt(1) == "a"))',
    'claims.groups.all(a, claims.groups.all(b, claims.groups == claims.groups))',
    'claims.groups.all(a, claims.groups.all(b, claims.groups + claims.groups != []))',
    'claims.groups.all(a, claims.groups.all(b, claims.long in [claims.long + "", claims.long]))',
    'claims.groups.all(a, claims.groups.all(b, !format.uri().validate(claims.long).hasValue() || true))',
    'claims.groups.all(a, claims.groups.all(b, ip("10.0.0.1").family() == 4 && !isCIDR(claims.long)))',
    'claims.groups.all(a, claims.groups.all(b, timestamp("2024-01-01T00:00:00Z").getHours("Europe/Berlin") >= 0))',
  ];
  for (const source of expensive) {
    it(`stops ${source.slice(0, 80)}`, () => {
      const budget = new CelBudget();
      assert.throws(() => cel.compile(source, environment).evaluate(many, budget), {
        name: 'CelEvaluationError',
        code: 'cost',
      });
      assert.ok(budget.left < limits.celBudget);
    });
  }

  it('shares a budget between expressions, and evaluates nothing once it is spent', () => {
    const program = cel.compile('claims.groups.all(g, g != "")', environment);
    const budget = new CelBudget(50_000);
    let evaluated = 0;
    assert.throws(
      () => {
        for (; evaluated < 100; evaluated++) program.evaluate(many, budget);
      },
      { code: 'cost' },
    );
    assert.ok(evaluated > 0 && evaluated < 20, `${evaluated}`);
    assert.throws(() => cel.compile('1 + 1', environment).evaluate({}, budget), { code: 'cost' });
  });

  it('charges little for a reasonable expression', () => {
    const budget = new CelBudget();
    cel.compile('has(claims.groups) && claims.groups.exists(g, g == "group-9")', environment).evaluate(many, budget);
    assert.ok(limits.celBudget - budget.left < 200, `${limits.celBudget - budget.left}`);
  });

  it('matches in linear time', () => {
    const text = { claims: { sub: `${'a'.repeat(2_000)}!` } };
    for (const pattern of ['(a+)+$', '(a|aa)+$', '(a|b?c?a)+$', '(.*a){20}$', '^(a?){20}a{20}$']) {
      assert.equal(evaluate(`claims.sub.matches("${pattern}")`, text), false, pattern);
    }
  });

  it('bounds patterns', () => {
    assert.throws(() => evaluate(`"a".matches("${'a'.repeat(5_000)}")`), /longer than/);
    assert.throws(() => evaluate('"a".matches("((a{100}){100}){100}")'), /invalid matches argument/);
  });
});
