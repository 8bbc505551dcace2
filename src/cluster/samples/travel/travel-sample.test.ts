// The sample bucket has what tutorials expect: names, keys, fields and types.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { travelSample } from './travel-sample.ts';

const collections = travelSample.collections();
const inventory = (name: string) => {
  const found = collections.find(
    (collection) => collection.scope === 'inventory' && collection.name === name,
  );
  return new Map(found?.documents.map(({ key, value }) => [key, value as Record<string, unknown>]));
};

/** The types of all values of each field. */
function typesOf(documents: Iterable<Record<string, unknown>>): Record<string, string> {
  const types = new Map<string, Set<string>>();
  for (const document of documents)
    for (const [name, value] of Object.entries(document)) {
      const seen = types.get(name) ?? new Set();
      types.set(name, seen.add(value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value));
    }
  return Object.fromEntries([...types].map(([name, seen]) => [name, [...seen].sort().join(' ')]));
}

describe('the travel sample', () => {
  it('has the scopes and collections of tutorials, and all of inventory in the default collection too', () => {
    const names = collections.map(({ scope, name }) => `${scope}.${name}`);
    const tenants = [0, 1, 2, 3, 4].flatMap((n) => [
      `tenant_agent_0${n}.users`,
      `tenant_agent_0${n}.bookings`,
    ]);
    const ofInventory = ['airline', 'airport', 'route', 'landmark', 'hotel'].map(
      (name) => `inventory.${name}`,
    );
    assert.deepEqual(names, [...ofInventory, ...tenants, '_default._default']);
    const keys = collections
      .filter(({ scope }) => scope === 'inventory')
      .flatMap(({ documents }) => documents.map(({ key }) => key));
    const legacy = collections.at(-1)?.documents.map(({ key }) => key);
    assert.deepEqual(legacy, keys);
    assert.equal(new Set(keys).size, keys.length);
  });

  it('has the keys that tutorials read', () => {
    const read = {
      airline: ['airline_10', 'airline_24', 'airline_137', 'airline_2297', 'airline_5209'],
      airport: ['airport_1254', 'airport_1255', 'airport_3469'],
      route: ['route_10000', 'route_10003'],
      landmark: ['landmark_10019', 'landmark_10025', 'landmark_10090'],
      hotel: ['hotel_10025', 'hotel_10026', 'hotel_1368', 'hotel_1501'],
    };
    for (const [name, keys] of Object.entries(read))
      assert.deepEqual(
        keys.filter((key) => !inventory(name).has(key)),
        [],
      );
    for (const { scope, name, documents } of collections)
      if (scope.startsWith('tenant')) assert.equal(documents[0]?.key, '0', `${scope}.${name}`);
  });

  it('has the fields of tutorials with their types', () => {
    const expected = {
      airline: { number: 'id', string: 'type name country icao', 'null string': 'iata callsign' },
      airport: {
        number: 'id',
        string: 'type airportname city country tz',
        'null string': 'faa icao',
        object: 'geo',
      },
      route: {
        number: 'id stops distance',
        string: 'type airline airlineid equipment sourceairport destinationairport',
        array: 'schedule',
      },
      landmark: {
        number: 'id',
        string: 'type title name address city country content activity',
        'null string': 'state directions phone tollfree email url price alt hours',
        null: 'image',
        object: 'geo',
      },
      hotel: {
        number: 'id',
        string: 'type title name address city country description',
        'null string': 'state directions phone tollfree email url price fax checkin checkout alias',
        boolean: 'vacancy pets_ok free_breakfast free_internet free_parking',
        array: 'public_likes reviews',
        object: 'geo',
      },
    };
    for (const [name, byType] of Object.entries(expected)) {
      const wanted = Object.entries(byType).flatMap(([type, fields]) =>
        fields.split(' ').map((field) => [field, type]),
      );
      assert.deepEqual(typesOf(inventory(name).values()), Object.fromEntries(wanted), name);
    }
  });

  it('refers from all but a few routes to airlines and airports that exist', () => {
    const codes = new Set([...inventory('airport').values()].map(({ faa }) => faa));
    const airlines = inventory('airline');
    let elsewhere = 0;
    for (const route of inventory('route').values()) {
      const { sourceairport: from, destinationairport: to, airlineid, airline } = route;
      assert.notEqual(from, to);
      const isKnown =
        codes.has(from) && codes.has(to) && airlines.get(airlineid as string)?.['iata'] === airline;
      if (!isKnown) elsewhere++;
    }
    // Airlines and airports of other countries have no documents, as in the published sample.
    assert.ok(elsewhere <= 7, String(elsewhere));
  });

  it('gives each airport code, and each airline code, once', () => {
    for (const [name, field] of [
      ['airport', 'faa'],
      ['airport', 'icao'],
      ['airline', 'iata'],
      ['airline', 'icao'],
    ] as const) {
      const codes = [...inventory(name).values()]
        .map((value) => value[field])
        .filter((code) => code !== null);
      assert.equal(new Set(codes).size, codes.length, `${name}.${field}`);
    }
  });

  it('is the same each time it is made', () => {
    assert.deepEqual(travelSample.collections(), collections);
  });
});
