import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { CelBudget } from '../budget.ts';
import { compile } from '../compile.ts';
import { estimateCost } from '../estimate.ts';

/** The libraries that rules have in kube-apiserver 1.32: what they accept, give and cost. */

const evaluate = (source: string): unknown => compile(source, {}).evaluate({});

/** Expressions that are true. */
const facts: Readonly<Record<string, readonly string[]>> = {
  ip: [
    "ip('10.1.2.3').family() == 4",
    "ip('fd00::1').family() == 6",
    "!isIP('10.1.2')",
    "!isIP('10.1.2.3.4')",
    "!isIP('010.1.2.3')",
    "!isIP('::ffff:10.1.2.3')",
    "!isIP('fe80::1%eth0')",
    "ip.isCanonical('fd00::1')",
    "!ip.isCanonical('FD00::1')",
    "!ip.isCanonical('fd00:0:0::1')",
    "ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified()",
    "ip('127.9.9.9').isLoopback() && !ip('128.0.0.1').isLoopback()",
    "ip('224.0.0.9').isLinkLocalMulticast() && !ip('224.0.1.9').isLinkLocalMulticast()",
    "ip('169.254.1.1').isLinkLocalUnicast() && !ip('169.255.1.1').isLinkLocalUnicast()",
    "ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
    "string(ip('2001:DB8:0:0::68')) == '2001:db8::68'",
    "ip('10.0.0.1') == ip('10.0.0.1') && ip('10.0.0.1') != ip('10.0.0.2')",
    "type(ip('10.0.0.1')) == net.IP",
    "type(ip('10.0.0.1')) != net.CIDR",
    "[ip('10.0.0.1')].exists(x, x.isGlobalUnicast() && type(x) == net.IP)",
  ],
  cidr: [
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
    "cidr('10.1.2.3/8') != cidr('10.0.0.0/8')",
    "cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
    "cidr('10.1.2.3/8').prefixLength() == 8",
    "cidr('10.0.0.0/8').containsIP('10.255.0.1') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
    "cidr('10.0.0.0/8').containsCIDR('10.9.0.0/16') && !cidr('10.9.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
    "!cidr('10.0.0.0/8').containsIP('fd00::1')",
    "cidr('fd00::/8').containsIP('fdff::1')",
    "!isCIDR('10.0.0.0')",
    "!isCIDR('10.0.0.0/')",
    "!isCIDR('10.0.0.0/33')",
    "!isCIDR('10.0.0.0/08')",
    "string(cidr('FD00::1/64')) == 'fd00::1/64'",
    "type(cidr('10.0.0.0/8')) == net.CIDR",
  ],
  quantity: [
    "quantity('1Ki').isGreaterThan(quantity('1k'))",
    "quantity('0.5') == quantity('500m') && quantity('0.5') != quantity('501m')",
    "quantity('1M').compareTo(quantity('1Mi')) == -1 && quantity('1Mi').compareTo(quantity('1M')) == 1",
    "quantity('1').add(quantity('500m')) == quantity('1500m')",
    "quantity('1k').add(24) == quantity('1Ki')",
    "quantity('1').sub(quantity('2')).asInteger() == -1",
    "quantity('1').sub(3) == quantity('-2')",
    "quantity('1.5').isInteger() == false",
    "quantity('9223372036854775808').isInteger() == false",
    "quantity('1.5').asApproximateFloat() == 1.5",
    "sign(quantity('-1m')) == -1 && sign(quantity('0')) == 0",
    "isQuantity('1.5Gi') && !isQuantity('1.5GiB') && !isQuantity('1Mm') && !isQuantity('')",
    "[quantity('1')].all(q, q.isLessThan(quantity('2')))",
  ],
  url: [
    "url('https://user@example.com:8443/a b?q=1&q=2&r').getHost() == 'example.com:8443'",
    "url('https://[fd00::1]:80/').getHostname() == 'fd00::1' && url('https://[fd00::1]:80/').getPort() == '80'",
    "url('HTTPS://example.com').getScheme() == 'https'",
    "url('https://example.com/a b').getEscapedPath() == '/a%20b'",
    "url('https://example.com?q=1&q=2').getQuery() == {'q': ['1', '2']}",
    "url('/only/path').getHost() == ''",
    "isURL('https://example.com') && !isURL('example.com/a') && !isURL('../a')",
    "url('https://example.com') == url('https://example.com') && url('https://a') != url('https://b')",
  ],
  regex: [
    "'a1b22'.find('[0-9]+') == '1'",
    "'abc'.find('[0-9]') == ''",
    "'a1b22c333'.findAll('[0-9]+') == ['1', '22', '333']",
    "'a1b22c333'.findAll('[0-9]+', 2) == ['1', '22']",
    "'a1b22c333'.findAll('[0-9]+', 0) == []",
    "'a1'.matches('^[a-z][0-9]$') && matches('a1', '1')",
  ],
  lists: [
    "[1, 1, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()",
    "[1.5, 2.5].sum() == 4.0 && [duration('1s'), duration('2s')].sum() == duration('3s')",
    '[].sum() == 0',
    "['b', 'a'].min() == 'a' && [timestamp('2024-01-01T00:00:00Z')].max() < timestamp('2024-01-02T00:00:00Z')",
    '[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(3) == -1',
  ],
  strings: [
    "'tacocat'.charAt(3) == 'o' && 'tacocat'.charAt(7) == ''",
    "'tacocat'.indexOf('ac', 3) == -1 && 'tacocat'.lastIndexOf('ac', 3) == 1",
    "'A-Z'.lowerAscii() == 'a-z' && 'æb'.upperAscii() == 'æB'",
    "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'abc'.split('') == ['a', 'b', 'c']",
    "'aaa'.replace('a', 'b', 2) == 'bba' && 'ab'.replace('', '_') == '_a_b_'",
    "'hello'.substring(1, 3) == 'el' && '\\t x\\n'.trim() == 'x'",
    "['a', 'b'].join('-') == 'a-b' && [].join() == ''",
    'strings.quote(\'a"b\') == \'"a\\\\"b"\'',
  ],
  sets: [
    'sets.contains([dyn(1), dyn(2u)], [dyn(2.0), dyn(1)]) && !sets.contains([1], [1, 2]) && sets.contains([], [])',
    'sets.equivalent([1, 1, 2], [2, 1]) && !sets.equivalent([1], [])',
    'sets.intersects([1, 2], [2, 3]) && !sets.intersects([], [])',
  ],
  optionals: [
    "optional.of(1).hasValue() && !optional.none().hasValue() && !optional.ofNonZeroValue('').hasValue()",
    "{'a': 1}[?'a'].orValue(0) == 1 && [1][?3].orValue(0) == 0",
    "{'a': 1}.?b.or(optional.of(2)).value() == 2",
    "{'a': 1}.?a.optMap(x, x + 1).value() == 2 && {'a': 1}.?a.optFlatMap(x, optional.none()) == optional.none()",
    "[?optional.none(), ?optional.of(1)] == [1] && {?'a': optional.none()} == {}",
  ],
  numbers: ['1 < 1.5 && 2u > 1 && 1.0 <= 1u', 'dyn(1) == dyn(1.0) && dyn(1u) == dyn(1)'],
  times: [
    "timestamp('2024-03-31T00:30:00Z').getHours('Europe/Berlin') == 1",
    "timestamp('2024-03-31T01:30:00Z').getHours('Europe/Berlin') == 3",
    "timestamp('2024-01-01T00:30:00Z').getHours('-02:00') == 22",
    "timestamp('2024-01-01T00:00:00Z').getDayOfWeek() == 1",
  ],
};

for (const [library, expressions] of Object.entries(facts)) {
  describe(library, () => {
    for (const expression of expressions) test(expression, () => assert.equal(evaluate(expression), true));
  });
}

describe('evaluations that fail', () => {
  const rows: Readonly<Record<string, RegExp>> = {
    "ip('1.2.3')": /IP address parse error/i,
    "ip.isCanonical('1.2.3')": /IP address parse error/i,
    "cidr('10.0.0.0')": /network address parse error/,
    "cidr('10.0.0.0/8').containsIP('none')": /IP address parse error/i,
    "quantity('10Mo')": /quantities must match the regular expression/,
    "quantity('1.5').asInteger()": /cannot convert value to integer/,
    "url('none')": /URL parse error/,
    "'a'.substring(2)": /index out of range/,
    "timestamp('2024-01-01T00:00:00Z').getHours('Nowhere')": /unknown time zone/,
  };
  for (const [expression, message] of Object.entries(rows)) {
    test(expression, () => assert.throws(() => evaluate(expression), { name: 'CelEvaluationError', message }));
  }
});

describe('expressions that do not compile', () => {
  const rows: Readonly<Record<string, RegExp>> = {
    // Libraries that kube-apiserver 1.32 has not, or not for rules.
    'cel.bind(x, 1, x + 1)': /undeclared reference/,
    "semver('1.2.3')": /undeclared reference to 'semver'/,
    "jsonpatch.escapeKey('a/b')": /undeclared reference/,
    'math.greatest(1, 2)': /undeclared reference/,
    "base64.encode(b'a')": /undeclared reference/,
    "'abc'.reverse()": /undeclared reference to 'reverse'/,
    '[[1]].flatten()': /undeclared reference to 'flatten'/,
    "authorizer.path('/').check('get')": /undeclared reference/,
    // Types of operands.
    'isIP(1)': /no matching overload for 'isIP' applied to '\(int\)'/,
    "cidr('10.0.0.0/8').containsIP(1)": /no matching overload for 'containsIP' applied to 'net\.CIDR\.\(int\)'/,
    "quantity('1') < quantity('2')": /'_<_' applied to '\(kubernetes\.Quantity, kubernetes\.Quantity\)'/,
    "quantity('1').add('1')": /'add' applied to 'kubernetes\.Quantity\.\(string\)'/,
    "url('/a') == '/a'": /'_==_' applied to '\(kubernetes\.URL, string\)'/,
    "ip('1.1.1.1') == cidr('1.1.1.1/32')": /'_==_' applied to '\(net\.IP, net\.CIDR\)'/,
    "['a'].sum()": /no matching overload for 'sum'/,
    "[1, 'a']": /expected type 'int' but found 'string'/,
    'net.MAC': /undeclared reference to 'net'/,
    // Literals.
    "'a'.matches('(')": /invalid matches argument/,
    "duration('1y')": /invalid duration/,
    "timestamp('2024')": /invalid timestamp/,
  };
  for (const [expression, message] of Object.entries(rows)) {
    test(expression, () => assert.throws(() => compile(expression, {}), { name: 'CelCompileError', message }));
  }

  test('a variable comes before the type of the same name', () => {
    const program = compile('net.IP', { net: { kind: 'map', key: { kind: 'string' }, value: { kind: 'int' } } });
    assert.equal(program.evaluate({ net: { IP: 3 } }), 3n);
  });
});

describe('costs', () => {
  const texts = "'abc 123 def 123'";
  const long = "'ABCDEFGHIJ abcdefghij'";
  const v6 = "'2001:db8:3333:4444:5555:6666:7777:8888'";
  const uints = '[uint(1), uint(2), uint(3), uint(4), uint(5)]';
  const range = "cidr('192.168.0.0/16')";
  const url = "url('https:://kubernetes.io/')";
  /** Those of kube-apiserver; `actual` where it is another one, because an operation does less, or stops earlier. */
  const rows: readonly (readonly [expression: string, estimated: number, actual?: number])[] = [
    ['[1, 2, 3, 4, 5].sum()', 15],
    [`${uints}.sum()`, 20],
    [`${uints}.isSorted()`, 20],
    ['[1, 2, 3, 4, 5].max()', 15],
    ['[1, 2, 3, 4, 5].indexOf(3)', 15],
    [`${uints}.lastIndexOf(uint(3))`, 21],
    ["'01234567890123456789012345678901234567890123456789'.indexOf('123')", 5],
    [`${url}.getScheme()`, 4],
    [`${url}.getEscapedPath()`, 4],
    [`${url}.getQuery()`, 4],
    [`${url} == ${url}`, 9, 7],
    [`${url} == url('http://x.b')`, 5],
    ["ip('192.168.0.1')", 2],
    [`ip(${v6})`, 4],
    [`ip(${v6}).isLoopback()`, 5],
    [`ip(${v6}) == ip('192.168.0.1')`, 7],
    ["ip.isCanonical('192.168.0.1')", 3],
    [`ip.isCanonical(${v6})`, 8],
    [`${range}.masked()`, 3],
    [`${range}.ip()`, 3],
    [`${range} == ${range}`, 5],
    [`${range}.containsCIDR(cidr('192.0.0.0/30'))`, 11, 7],
    [`${range}.containsCIDR('192.0.0.0/30')`, 11, 7],
    [`${range}.containsIP(ip('192.169.0.1'))`, 8, 5],
    [`${range}.containsIP('192.0.0.1')`, 7, 4],
    [`cidr('2001:db8::/32').containsIP(${v6})`, 10, 7],
    [`${long}.lowerAscii()`, 3],
    [`${long}.lowerAscii() == ${long}.upperAscii()`, 9],
    [`strings.quote(${long})`, 3],
    [`${texts}.replace('123', '456')`, 3],
    [`${texts}.replace('', 'x')`, 3],
    [`${texts}.split(' ')`, 3],
    [`${texts}.substring(5, 8)`, 2],
    [`${texts}.trim()`, 2],
    [`${texts}.find('123')`, 2],
    [`${texts}.findAll('123')`, 2],
    [`${texts}.matches('123')`, 2],
    ["quantity('12Mi')", 1],
    ["quantity('50k').add(20).sub(quantity('100k')).asInteger() > 0", 6],
    ["quantity('200M') == quantity('0.2G')", 3],
    ["format.named('dns1123Label')", 1],
    ['format.dns1123Label()', 1],
    ["format.named('dns1123Subdomain').value().validate('my-name')", 34, 17],
    ["format.named('dns1123Label').value().validate('my-name')", 34, 10],
    ["format.named('dns1123Label').value() == format.named('dns1123Label').value()", 11, 5],
    ['sets.contains([1], [1, 1])', 23],
    ['sets.equivalent([1, 1], [1])', 25, 24],
    ['sets.intersects([1], [2])', 22],
    ["{'a': 1, 'b': 2}.all(k, v, v > 0)", 41],
    ["{'a': 1, 'b': 2}.exists(k, v, v > 0)", 43, 37],
    ["{'a': 1, 'b': 2}.existsOne(k, v, v > 0)", 40],
    ["{'a': 1, 'b': 2}.transformMap(k, v, v + 1)", 71],
    ["{'a': 1, 'b': 2}.transformMapEntry(k, v, {k: v + 1})", 131],
    ['[1, 2].transformList(i, v, v < 5, v + 1)', 53],
    ['[1, 2].map(x, x + 1)', 49],
    ['[1, 2].filter(x, x > 5)', 51],
    ['[1, 2, 3].exists_one(x, x == 2)', 24],
    ['3 in [1, 2, 3]', 13],
    ['[1, 2, 3] == [1, 2, 3]', 21],
    ["{'a': 1} == {'a': 1}", 61],
    ["'%s'.format(['a'])", 11],
    ['[1] + [2]', 21],
  ];
  for (const [expression, estimated, actual = estimated] of rows) {
    test(expression, () => {
      assert.equal(allAtOnce(estimateCost(expression, {}, () => undefined)), estimated, 'estimated');
      const budget = new CelBudget(1_000);
      compile(expression, {}).evaluate({}, budget);
      assert.equal(1_000 - budget.left, actual, 'actual');
    });
  }
});
