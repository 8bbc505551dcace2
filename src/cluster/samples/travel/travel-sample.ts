// The sample bucket of tutorials: scopes, collections, keys, fields and indexes are those that tutorials expect. The documents are made from
// a seed: other than codes and names of cities, large airports and airlines they are invented, so that nobody's licence applies.
import { prng } from '#base/prng.ts';
import type { SampleBucket, SampleCollection, SampleDocument } from '../sample-bucket.ts';
import { airlinesOf, airportsOf, routesOf } from './flights.ts';
import { hotelsOf, landmarksOf } from './stays.ts';
import { bookingsOf, usersOf } from './tenants.ts';
import { defaultIndexes, inventoryIndexes } from './travel-indexes.ts';

const seed = 1;
/** As many airlines and hotels as the published sample has; the others are fewer, so that the bucket is installed within seconds. */
const counts = { airlines: 187, airports: 400, routes: 4_000, landmarks: 1_200, hotels: 917 } as const;
const tenantCount = 5;
const ofTenant = { users: 10, bookings: 10 } as const;

export const travelSample: SampleBucket = { name: 'travel-sample', collections: travelCollections };

function travelCollections(): SampleCollection[] {
  const random = prng(seed);
  const airlines = airlinesOf(random, counts.airlines);
  const airports = airportsOf(random, counts.airports);
  const routes = routesOf(random, counts.routes, airlines, airports);
  const landmarks = landmarksOf(random, counts.landmarks);
  const hotels = hotelsOf(random, counts.hotels);
  const inventory = Object.entries({
    airline: keyed(airlines),
    airport: keyed(airports),
    route: keyed(routes),
    landmark: keyed(landmarks),
    hotel: keyed(hotels),
  });
  const tenants = Array.from({ length: tenantCount }, (_, tenant): SampleCollection[] => {
    const scope = `tenant_agent_0${tenant}`;
    const users = usersOf(random, ofTenant.users, airlines, airports);
    const bookings = bookingsOf(random, ofTenant.bookings, ofTenant.users, routes);
    return [
      { scope, name: 'users', documents: numbered(users), indexes: [] },
      { scope, name: 'bookings', documents: numbered(bookings), indexes: [] },
    ];
  });
  return [
    ...inventory.map(([name, documents]) => ({
      scope: 'inventory',
      name,
      documents,
      indexes: inventoryIndexes[name] ?? [],
    })),
    ...tenants.flat(),
    {
      // Earlier tutorials, from before there were collections, find all documents here.
      scope: '_default',
      name: '_default',
      documents: inventory.flatMap(([, documents]) => documents),
      indexes: defaultIndexes,
    },
  ];
}

const keyed = (values: readonly { readonly id: number; readonly type: string }[]): SampleDocument[] =>
  values.map((value) => ({ key: `${value.type}_${value.id}`, value }));

const numbered = (values: readonly object[]): SampleDocument[] =>
  values.map((value, index) => ({ key: String(index), value }));
