// The indexes of the sample bucket, under the names by which tutorials refer to them.
import type { SampleIndex } from '../sample-bucket.ts';

const primary = (name: string): SampleIndex => ({ name, isPrimary: true, keys: [] });
const on = (name: string, ...keys: SampleIndex['keys'][number][]): SampleIndex => ({
  name,
  isPrimary: false,
  keys,
});
const field = (name: string) => ({ expression: `\`${name}\`` });

const times = { expression: 'array (`s`.`utc`) for `s` in `schedule` end' };
const days = {
  expression: '(distinct (array (`v`.`day`) for `v` in `schedule` end))',
  array: 'distinct',
} as const;
const byAirportsAndDay = [field('sourceairport'), field('destinationairport'), days];

/** By collection. */
export const inventoryIndexes: Readonly<Record<string, readonly SampleIndex[]>> = {
  airline: [primary('def_inventory_airline_primary')],
  airport: [
    primary('def_inventory_airport_primary'),
    on('def_inventory_airport_airportname', field('airportname')),
    on('def_inventory_airport_city', field('city')),
    on('def_inventory_airport_faa', field('faa')),
  ],
  route: [
    primary('def_inventory_route_primary'),
    on('def_inventory_route_route_src_dst_day', ...byAirportsAndDay),
    on('def_inventory_route_schedule_utc', times),
    on('def_inventory_route_sourceairport', field('sourceairport')),
  ],
  landmark: [primary('def_inventory_landmark_primary'), on('def_inventory_landmark_city', field('city'))],
  hotel: [primary('def_inventory_hotel_primary'), on('def_inventory_hotel_city', field('city'))],
};

export const defaultIndexes: readonly SampleIndex[] = [
  primary('def_primary'),
  on('def_airportname', field('airportname')),
  on('def_city', field('city')),
  on('def_faa', field('faa')),
  on('def_icao', field('icao')),
  { ...on('def_name_type', field('name')), condition: '(`_type` = "User")' },
  { ...on('def_route_src_dst_day', ...byAirportsAndDay), condition: '(`type` = "route")' },
  on('def_schedule_utc', times),
  on('def_sourceairport', field('sourceairport')),
  on('def_type', field('type')),
];
