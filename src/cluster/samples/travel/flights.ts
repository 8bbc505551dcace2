// Airlines, airports and routes of the sample data.
import type { Prng } from '#base/prng.ts';
import {
  cities,
  countries,
  knownAirlines,
  knownAirports,
  knownRoutes,
  type Position,
} from './travel-places.ts';
import { oneIn, placeName, twoFigures } from './travel-words.ts';

export interface Airline {
  readonly id: number;
  readonly type: 'airline';
  readonly name: string;
  readonly iata: string | null;
  readonly icao: string | null;
  readonly callsign: string | null;
  readonly country: string;
}

export interface Airport {
  readonly id: number;
  readonly type: 'airport';
  readonly airportname: string;
  readonly city: string;
  readonly country: string;
  readonly faa: string | null;
  readonly icao: string | null;
  readonly tz: string;
  readonly geo: Position & { readonly alt: number };
}

const firstRouteId = 10_000;
const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const airlineWords = ['Air', 'Airways', 'Airlines', 'Express', 'Jet', 'Wings'];
const equipment = ['319', '320', '321', '332', '738', '752', '777', 'CRJ', 'E70', 'E90'];
/** Airports that routes in tutorials use: every second invented route begins at one of them. */
const hubs = new Set(['SFO', 'LAX', 'SEA', 'ATL', 'JFK', 'BOS', 'MSP', 'LHR', 'CDG', 'NCE']);
const daysOfWeek = 7;
const earthKm = 6_371;

export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

export function airlinesOf(random: Prng, count: number): Airline[] {
  const known = knownAirlines.map((facts) => ({ type: 'airline', ...facts }) as const);
  const invented = Array.from({ length: count - known.length }, (_, index): Airline => {
    const name = placeName(random);
    // No known airline has a code that begins with a digit.
    const code = `${index % 9 === 0 ? 9 : index % 9}${letters[Math.floor(index / 9) % 26]}`;
    return {
      id: 10_101 + 7 * index,
      type: 'airline',
      name: `${name} ${random.pick(airlineWords)}`,
      iata: oneIn(random, 4) ? null : code,
      icao: `X${letters[Math.floor(index / 26) % 26]}${letters[index % 26]}`,
      callsign: oneIn(random, 4) ? null : name.toUpperCase(),
      country: random.pick(countries),
    };
  });
  return [...known, ...invented];
}

export function airportsOf(random: Prng, count: number): Airport[] {
  const known = knownAirports.map(({ id, name, city, faa, icao, lat, lon, alt }): Airport => {
    const { country = '', tz = '' } = cities.find((candidate) => candidate.name === city) ?? {};
    return { id, type: 'airport', airportname: name, city, country, faa, icao, tz, geo: { lat, lon, alt } };
  });
  const invented = Array.from({ length: count - known.length }, (_, index): Airport => {
    const near = random.pick(cities);
    const name = placeName(random);
    return {
      id: 6_001 + 5 * index,
      type: 'airport',
      airportname: `${name} ${oneIn(random, 3) ? 'Municipal' : 'Airport'}`,
      city: oneIn(random, 6) ? near.name : name,
      country: near.country,
      // No airport that is known here has a code with this letter.
      faa: oneIn(random, 3) ? null : `Q${letters[Math.floor(index / 26) % 26]}${letters[index % 26]}`,
      icao: oneIn(random, 3) ? null : `XQ${letters[Math.floor(index / 26) % 26]}${letters[index % 26]}`,
      tz: near.tz,
      geo: {
        lat: rounded(near.lat + random.next() * 4 - 2, 6),
        lon: rounded(near.lon + random.next() * 4 - 2, 6),
        alt: random.below(3_000),
      },
    };
  });
  return [...known, ...invented];
}

export function routesOf(
  random: Prng,
  count: number,
  airlines: readonly Airline[],
  airports: readonly Airport[],
) {
  const served = airports.filter(({ faa }) => faa !== null);
  const large = served.filter(({ faa }) => hubs.has(faa as string));
  const flying = airlines.filter(({ iata }) => iata !== null);
  const known = flying.slice(0, knownAirlines.length);
  return Array.from({ length: count }, (_, index) => {
    const route = knownRoutes[index] ?? inventedRoute(index);
    return {
      id: firstRouteId + index,
      type: 'route',
      airline: route.airline,
      airlineid: `airline_${route.airlineId}`,
      sourceairport: route.from.faa,
      destinationairport: route.to.faa,
      stops: route.stops,
      equipment: random.pick(equipment),
      schedule: scheduleOf(random, route.airline),
      distance: distanceKm(route.from.geo, route.to.geo),
    };
  });

  function inventedRoute(index: number) {
    const isLarge = index % 2 === 0;
    const from = random.pick(isLarge ? large : served);
    const to = otherThan(from, random.pick(isLarge && index % 4 === 0 ? large : served), served);
    const { id, iata } = random.pick(isLarge ? known : flying);
    return { airline: iata as string, airlineId: id, from, to, stops: oneIn(random, 200) ? 1 : 0 };
  }
}

const otherThan = (from: Airport, to: Airport, others: readonly Airport[]): Airport =>
  to !== from ? to : (others[(others.indexOf(from) + 1) % others.length] as Airport);

/** Up to three flights on each day of the week; of some routes up to six. */
const scheduleOf = (random: Prng, airline: string) => {
  const perDay = oneIn(random, 8) ? 7 : 4;
  return Array.from({ length: daysOfWeek }, (_, day) =>
    Array.from({ length: random.below(perDay) }, () => ({
      day,
      utc: `${twoFigures(random.below(24))}:${twoFigures(random.below(60))}:00`,
      flight: `${airline}${twoFigures(random.below(10))}${random.below(10)}`,
    })),
  ).flat();
};

/** On a sphere. */
function distanceKm(from: Position, to: Position): number {
  const [a, b] = [from, to].map(({ lat }) => (lat * Math.PI) / 180) as [number, number];
  const longitudeDifference = ((to.lon - from.lon) * Math.PI) / 180;
  const haversine =
    Math.sin((b - a) / 2) ** 2 + Math.cos(a) * Math.cos(b) * Math.sin(longitudeDifference / 2) ** 2;
  return 2 * earthKm * Math.asin(Math.min(1, Math.sqrt(haversine)));
}
