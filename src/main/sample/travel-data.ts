// Sample data about travel, made from a seed: the names are invented, so that nobody's licence applies.
import { type Prng, prng } from '#base/prng.ts';

export interface SampleDocument {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface SampleCollection {
  readonly name: string;
  /** By name: the text behind the keyspace in CREATE INDEX. */
  readonly indexes: Readonly<Record<string, string>>;
  readonly documents: Iterable<SampleDocument>;
}

export const sampleScope = 'inventory';

const counts = { airlines: 60, airports: 200, routes: 4_000, hotels: 600 } as const;
const starts = [
  'Al',
  'Bre',
  'Cor',
  'Da',
  'El',
  'Fa',
  'Gor',
  'Hal',
  'Is',
  'Ka',
  'Lin',
  'Mo',
  'Nor',
  'Os',
  'Pa',
  'Ro',
  'Sel',
  'Tar',
  'Ul',
  'Ve',
];
const middles = ['ba', 'de', 'la', 'lo', 'ma', 'mi', 'na', 'ra', 'ri', 'sa', 'ta', 'va'];
const ends = [
  'burg',
  'dal',
  'field',
  'ford',
  'haven',
  'holm',
  'mont',
  'port',
  'stad',
  'ville',
  'wick',
  'zona',
];
const countries = ['Arland', 'Bergovia', 'Calmora', 'Dornia', 'Estavia', 'Florin', 'Gaveria', 'Helmark'];
const airlineWords = ['Air', 'Airways', 'Lines', 'Express', 'Jet', 'Wings'];
const hotelWords = ['Grand Hotel', 'Hotel', 'Inn', 'Lodge', 'Guest House', 'Resort'];
const equipment = ['A20', 'A21', 'B38', 'E90', 'C70', 'T72'];
const remarks = [
  'Quiet and clean.',
  'The view was worth it.',
  'Breakfast could be better.',
  'We will come again.',
  'Friendly people.',
];
const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const dayMinutes = 24 * 60;

interface Airport {
  readonly key: string;
  readonly code: string;
  readonly city: string;
  readonly country: string;
  readonly geo: { readonly lat: number; readonly lon: number };
}

/** Returns equal data for equal seeds. */
export function travelData(seed: number): SampleCollection[] {
  const random = prng(seed);
  const airports = Array.from({ length: counts.airports }, (_, n) => airportOf(random, n));
  const airlines = Array.from({ length: counts.airlines }, (_, n) => airlineOf(random, n));
  const routes = Array.from({ length: counts.routes }, (_, n) => routeOf(random, n, airlines, airports));
  const hotels = Array.from({ length: counts.hotels }, (_, n) => hotelOf(random, n, airports));
  return [
    {
      name: 'airline',
      indexes: { airline_primary: '', airline_country: '(country, name)' },
      documents: airlines,
    },
    {
      name: 'airport',
      indexes: { airport_primary: '', airport_code: '(code)', airport_city: '(city, country)' },
      documents: airports.map(airportDocument),
    },
    {
      name: 'route',
      indexes: {
        route_airports: '(source, destination, stops)',
        route_airline: '(airlineId)',
        route_days: '(DISTINCT ARRAY s.`day` FOR s IN schedule END)',
      },
      documents: routes,
    },
    {
      name: 'hotel',
      indexes: { hotel_city: '(city, price)', hotel_with_pets: '(city) WHERE petsAllowed = TRUE' },
      documents: hotels,
    },
  ];
}

const nameOf = (random: Prng): string =>
  `${random.pick(starts)}${random.below(2) === 0 ? random.pick(middles) : ''}${random.pick(ends)}`;

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

function airportOf(random: Prng, index: number): Airport {
  // Three letters of the number: different for each.
  const code = [index * 7 + 300, (index * 7 + 300) / 26, (index * 7 + 300) / 676].map(
    (n) => letters[Math.floor(n) % 26],
  );
  return {
    key: `airport_${index + 1}`,
    code: code.join(''),
    city: nameOf(random),
    country: random.pick(countries),
    geo: { lat: rounded(random.next() * 140 - 70, 4), lon: rounded(random.next() * 360 - 180, 4) },
  };
}

const airportDocument = ({ key, ...rest }: Airport): SampleDocument => ({
  key,
  value: { type: 'airport', name: `${rest.city} Airport`, ...rest },
});

function airlineOf(random: Prng, index: number): SampleDocument {
  const country = random.pick(countries);
  const name = `${nameOf(random)} ${random.pick(airlineWords)}`;
  const code = `${letters[index % 26]}${letters[Math.floor(index / 26) % 26]}`;
  return {
    key: `airline_${index + 1}`,
    value: { type: 'airline', id: index + 1, name, code, country, founded: 1930 + random.below(90) },
  };
}

function routeOf(
  random: Prng,
  index: number,
  airlines: readonly SampleDocument[],
  airports: readonly Airport[],
): SampleDocument {
  const from = random.pick(airports);
  const others = airports.filter(({ code }) => code !== from.code);
  const to = random.pick(others);
  const airline = random.pick(airlines);
  const days = Array.from({ length: 1 + random.below(5) }, () => random.below(7)).sort((a, b) => a - b);
  return {
    key: `route_${index + 1}`,
    value: {
      type: 'route',
      airline: airline.value['code'],
      airlineId: airline.key,
      source: from.code,
      destination: to.code,
      stops: random.below(10) === 0 ? 1 : 0,
      equipment: random.pick(equipment),
      distanceKm: distanceKm(from.geo, to.geo),
      schedule: days.map((day) => ({
        day,
        utc: clockText(random.below(dayMinutes)),
        flight: `${airline.value['code']}${100 + random.below(900)}`,
      })),
    },
  };
}

function hotelOf(random: Prng, index: number, airports: readonly Airport[]): SampleDocument {
  const { city, country, geo } = random.pick(airports);
  const reviews = Array.from({ length: random.below(5) }, (_, n) => ({
    author: `${nameOf(random)} ${n + 1}`,
    stars: 1 + random.below(5),
    text: random.pick(remarks),
  }));
  return {
    key: `hotel_${index + 1}`,
    value: {
      type: 'hotel',
      name: `${random.pick(hotelWords)} ${nameOf(random)}`,
      city,
      country,
      geo: { lat: rounded(geo.lat + random.next() / 10, 4), lon: rounded(geo.lon + random.next() / 10, 4) },
      price: 40 + random.below(300),
      petsAllowed: random.below(3) === 0,
      freeBreakfast: random.below(2) === 0,
      ...(random.below(4) === 0 && { vacancyFrom: `2026-0${1 + random.below(9)}-0${1 + random.below(9)}` }),
      reviews,
    },
  };
}

const clockText = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

/** On a sphere. */
function distanceKm(from: Airport['geo'], to: Airport['geo']): number {
  const [a, b] = [from, to].map(({ lat }) => (lat * Math.PI) / 180) as [number, number];
  const longitudeDifference = ((to.lon - from.lon) * Math.PI) / 180;
  const haversine =
    Math.sin((b - a) / 2) ** 2 + Math.cos(a) * Math.cos(b) * Math.sin(longitudeDifference / 2) ** 2;
  return Math.round(2 * 6_371 * Math.asin(Math.min(1, Math.sqrt(haversine))));
}
