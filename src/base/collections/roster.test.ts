import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../random.ts';
import { Roster } from './roster.ts';

describe('a roster', () => {
  test('keeps its members in order of arrival, as a Set does, whoever leaves', () => {
    const random = seededRandom(5);
    const roster = new Roster<number>();
    const model = new Set<number>();
    const places = new Map<number, number>();
    for (let step = 0; step < 5_000; step++) {
      const [choice = 0, which = 0] = random.bytes(2);
      if (choice < 140 || model.size === 0) {
        places.set(step, roster.add(step));
        model.add(step);
      } else {
        const member = [...model][which % model.size] as number;
        const place = places.get(member) as number;
        assert.equal(roster.delete(place, member), true);
        assert.equal(roster.delete(place, member), false, 'once');
        model.delete(member);
      }
      assert.equal(roster.size, model.size);
      assert.deepEqual([...roster], [...model]);
      assert.equal(roster.first()?.member, [...model][0]);
    }
  });

  test('may be changed while it is read: what was there when it began is read', () => {
    const roster = new Roster<string>();
    const places = ['a', 'b', 'c'].map((member) => roster.add(member));
    const read: string[] = [];
    for (const member of roster) {
      read.push(member);
      for (const [at, place] of places.splice(0).entries()) roster.delete(place, 'abc'.charAt(at));
      roster.add(`after ${member}`);
    }
    assert.deepEqual(read, ['a', 'b', 'c']);
    assert.deepEqual([...roster], ['after a', 'after b', 'after c']);
  });

  test('does not grow beyond the members that it had at once', () => {
    const roster = new Roster<object>();
    const members = [{}, {}, {}];
    const places = members.map((member) => roster.add(member));
    for (let turn = 0; turn < 1_000; turn++) {
      assert.ok(roster.delete(places.shift() as number, members.shift() as object));
      members.push({});
      places.push(roster.add(members.at(-1) as object));
      assert.ok(places.every((place) => place <= 3));
    }
  });
});
