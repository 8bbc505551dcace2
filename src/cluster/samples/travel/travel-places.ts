// Cities, airports and airlines of the sample data: public facts (names, codes, rounded positions), so that statements of tutorials return rows.

export interface Position {
  readonly lat: number;
  readonly lon: number;
}

export interface City extends Position {
  readonly name: string;
  readonly state: string | null;
  readonly country: Country;
  readonly tz: string;
}

export type Country = 'France' | 'United Kingdom' | 'United States';

interface KnownAirport extends Position {
  readonly id: number;
  readonly name: string;
  readonly city: string;
  readonly faa: string;
  readonly icao: string;
  /** Feet above sea level. */
  readonly alt: number;
}

export interface KnownAirline {
  readonly id: number;
  readonly name: string;
  readonly iata: string;
  readonly icao: string;
  readonly callsign: string;
  readonly country: Country;
}

type CityRow = readonly [name: string, state: string | null, lat: number, lon: number, tz?: string];

const cityRows: Readonly<Record<Country, readonly CityRow[]>> = {
  'United Kingdom': [
    ['London', null, 51.51, -0.13],
    ['Manchester', null, 53.48, -2.24],
    ['Birmingham', 'England', 52.48, -1.9],
    ['Edinburgh', 'Scotland', 55.95, -3.19],
    ['Glasgow', 'Scotland', 55.86, -4.25],
    ['Bristol', 'England', 51.45, -2.59],
    ['Newcastle', 'England', 54.97, -1.61],
    ['Liverpool', 'England', 53.41, -2.98],
    ['Leeds', 'England', 53.8, -1.55],
    ['Cardiff', 'Wales', 51.48, -3.18],
    ['Medway', null, 51.41, 0.55],
    ['Gillingham', null, 51.39, 0.55],
  ],
  France: [
    ['Paris', 'Île-de-France', 48.86, 2.35],
    ['Nice', "Provence-Alpes-Côte d'Azur", 43.7, 7.27],
    ['Marseille', "Provence-Alpes-Côte d'Azur", 43.3, 5.37],
    ['Lyon', 'Rhône-Alpes', 45.76, 4.84],
    ['Toulouse', 'Midi-Pyrénées', 43.6, 1.44],
    ['Bordeaux', 'Aquitaine', 44.84, -0.58],
    ['Nantes', 'Pays de la Loire', 47.22, -1.55],
    ['Strasbourg', 'Alsace', 48.57, 7.75],
    ['Calais', 'Nord-Pas-de-Calais', 50.95, 1.86],
    ['Ajaccio', 'Corse', 41.92, 8.74],
    ['Bastia', 'Corse', 42.7, 9.45],
  ],
  'United States': [
    ['San Francisco', 'California', 37.77, -122.42, 'America/Los_Angeles'],
    ['San Diego', 'California', 32.72, -117.16, 'America/Los_Angeles'],
    ['San Jose', 'California', 37.34, -121.89, 'America/Los_Angeles'],
    ['Los Angeles', 'California', 34.05, -118.24, 'America/Los_Angeles'],
    ['Oakland', 'California', 37.8, -122.27, 'America/Los_Angeles'],
    ['Santa Barbara', 'California', 34.42, -119.7, 'America/Los_Angeles'],
    ['New York', 'New York', 40.71, -74.01],
    ['Boston', 'Massachusetts', 42.36, -71.06],
    ['Atlanta', 'Georgia', 33.75, -84.39],
    ['Miami', 'Florida', 25.76, -80.19],
    ['Orlando', 'Florida', 28.54, -81.38],
    ['Newark', 'New Jersey', 40.74, -74.17],
    ['Chicago', 'Illinois', 41.88, -87.63, 'America/Chicago'],
    ['Dallas-Fort Worth', 'Texas', 32.78, -96.8, 'America/Chicago'],
    ['Houston', 'Texas', 29.76, -95.37, 'America/Chicago'],
    ['Minneapolis', 'Minnesota', 44.98, -93.27, 'America/Chicago'],
    ['Denver', 'Colorado', 39.74, -104.99, 'America/Denver'],
    ['Albuquerque', 'New Mexico', 35.08, -106.65, 'America/Denver'],
    ['Phoenix', 'Arizona', 33.45, -112.07, 'America/Phoenix'],
    ['Las Vegas', 'Nevada', 36.17, -115.14, 'America/Los_Angeles'],
    ['Seattle', 'Washington', 47.61, -122.33, 'America/Los_Angeles'],
    ['Portland', 'Oregon', 45.52, -122.68, 'America/Los_Angeles'],
    ['Washington', 'District of Columbia', 38.91, -77.04],
    ['Anchorage', 'Alaska', 61.22, -149.9, 'America/Anchorage'],
    ['Barrow', 'Alaska', 71.29, -156.79, 'America/Anchorage'],
    ['Honolulu', 'Hawaii', 21.31, -157.86, 'Pacific/Honolulu'],
  ],
};

const zones: Readonly<Record<Country, string>> = {
  'United Kingdom': 'Europe/London',
  France: 'Europe/Paris',
  'United States': 'America/New_York',
};

export const countries = Object.keys(zones) as Country[];

export const cities: readonly City[] = countries.flatMap((country) =>
  cityRows[country].map(([name, state, lat, lon, tz = zones[country]]) => ({
    name,
    state,
    country,
    lat,
    lon,
    tz,
  })),
);

type AirportRow = readonly [
  id: number,
  name: string,
  city: string,
  faa: string,
  icao: string,
  lat: number,
  lon: number,
  alt: number,
];

const airportRows: readonly AirportRow[] = [
  [1254, 'Calais Dunkerque', 'Calais', 'CQF', 'LFAC', 50.962, 1.955, 12],
  [1255, 'Bastia Poretta', 'Bastia', 'BIA', 'LFKB', 42.553, 9.484, 26],
  [1264, 'Merignac', 'Bordeaux', 'BOD', 'LFBD', 44.828, -0.716, 162],
  [1273, 'Blagnac', 'Toulouse', 'TLS', 'LFBO', 43.629, 1.364, 499],
  [1324, 'Campo dell’Oro', 'Ajaccio', 'AJA', 'LFKJ', 41.924, 8.803, 18],
  [1335, 'Saint-Exupery', 'Lyon', 'LYS', 'LFLL', 45.726, 5.081, 821],
  [1353, 'Provence', 'Marseille', 'MRS', 'LFML', 43.436, 5.215, 74],
  [1354, 'Cote d’Azur', 'Nice', 'NCE', 'LFMN', 43.658, 7.216, 12],
  [1382, 'Charles De Gaulle', 'Paris', 'CDG', 'LFPG', 49.013, 2.55, 392],
  [1386, 'Orly', 'Paris', 'ORY', 'LFPO', 48.725, 2.359, 291],
  [1406, 'Entzheim', 'Strasbourg', 'SXB', 'LFST', 48.538, 7.628, 505],
  [1418, 'Nantes Atlantique', 'Nantes', 'NTE', 'LFRS', 47.153, -1.611, 90],
  [469, 'Birmingham', 'Birmingham', 'BHX', 'EGBB', 52.454, -1.748, 327],
  [478, 'Manchester', 'Manchester', 'MAN', 'EGCC', 53.354, -2.275, 257],
  [490, 'Bristol', 'Bristol', 'BRS', 'EGGD', 51.383, -2.719, 622],
  [491, 'Liverpool', 'Liverpool', 'LPL', 'EGGP', 53.334, -2.85, 80],
  [492, 'Luton', 'London', 'LTN', 'EGGW', 51.875, -0.368, 526],
  [502, 'Gatwick', 'London', 'LGW', 'EGKK', 51.148, -0.19, 202],
  [503, 'City', 'London', 'LCY', 'EGLC', 51.505, 0.055, 19],
  [507, 'Heathrow', 'London', 'LHR', 'EGLL', 51.478, -0.461, 83],
  [521, 'Newcastle', 'Newcastle', 'NCL', 'EGNT', 55.038, -1.692, 266],
  [534, 'Glasgow', 'Glasgow', 'GLA', 'EGPF', 55.872, -4.433, 26],
  [535, 'Edinburgh', 'Edinburgh', 'EDI', 'EGPH', 55.95, -3.373, 135],
  [548, 'Stansted', 'London', 'STN', 'EGSS', 51.885, 0.235, 348],
  [3448, 'General Edward Lawrence Logan Intl', 'Boston', 'BOS', 'KBOS', 42.364, -71.005, 19],
  [3453, 'Metropolitan Oakland Intl', 'Oakland', 'OAK', 'KOAK', 37.721, -122.221, 9],
  [3462, 'Phoenix Sky Harbor Intl', 'Phoenix', 'PHX', 'KPHX', 33.434, -112.012, 1135],
  [3469, 'San Francisco Intl', 'San Francisco', 'SFO', 'KSFO', 37.619, -122.375, 13],
  [3484, 'Los Angeles Intl', 'Los Angeles', 'LAX', 'KLAX', 33.943, -118.408, 126],
  [3494, 'Newark Liberty Intl', 'Newark', 'EWR', 'KEWR', 40.693, -74.169, 18],
  [3550, 'George Bush Intercontinental', 'Houston', 'IAH', 'KIAH', 29.984, -95.341, 97],
  [3576, 'Miami Intl', 'Miami', 'MIA', 'KMIA', 25.793, -80.291, 8],
  [3577, 'Seattle Tacoma Intl', 'Seattle', 'SEA', 'KSEA', 47.449, -122.309, 433],
  [3670, 'Dallas Fort Worth Intl', 'Dallas-Fort Worth', 'DFW', 'KDFW', 32.897, -97.038, 607],
  [3682, 'Hartsfield Jackson Atlanta Intl', 'Atlanta', 'ATL', 'KATL', 33.637, -84.428, 1026],
  [3720, 'Portland Intl', 'Portland', 'PDX', 'KPDX', 45.589, -122.598, 30],
  [3728, 'Honolulu Intl', 'Honolulu', 'HNL', 'PHNL', 21.319, -157.922, 13],
  [3731, 'San Diego Intl', 'San Diego', 'SAN', 'KSAN', 32.734, -117.19, 17],
  [3748, 'Norman Y Mineta San Jose Intl', 'San Jose', 'SJC', 'KSJC', 37.363, -121.929, 62],
  [3751, 'Denver Intl', 'Denver', 'DEN', 'KDEN', 39.862, -104.673, 5431],
  [3520, 'Ronald Reagan Washington Natl', 'Washington', 'DCA', 'KDCA', 38.852, -77.038, 15],
  [3714, 'Washington Dulles Intl', 'Washington', 'IAD', 'KIAD', 38.945, -77.456, 313],
  [3491, 'Wiley Post Will Rogers Mem', 'Barrow', 'BRW', 'PABR', 71.285, -156.766, 44],
  [3774, 'Ted Stevens Anchorage Intl', 'Anchorage', 'ANC', 'PANC', 61.174, -149.996, 152],
  [3797, 'John F Kennedy Intl', 'New York', 'JFK', 'KJFK', 40.64, -73.779, 13],
  [3830, 'Chicago Ohare Intl', 'Chicago', 'ORD', 'KORD', 41.979, -87.905, 668],
  [3858, 'Minneapolis St Paul Intl', 'Minneapolis', 'MSP', 'KMSP', 44.882, -93.222, 841],
  [3877, 'Mc Carran Intl', 'Las Vegas', 'LAS', 'KLAS', 36.08, -115.152, 2141],
  [3878, 'Orlando Intl', 'Orlando', 'MCO', 'KMCO', 28.429, -81.316, 96],
  [4019, 'Albuquerque International Sunport', 'Albuquerque', 'ABQ', 'KABQ', 35.04, -106.609, 5355],
];

export const knownAirports: readonly KnownAirport[] = airportRows.map(
  ([id, name, city, faa, icao, lat, lon, alt]) => ({ id, name, city, faa, icao, lat, lon, alt }),
);

type AirlineRow = readonly [id: number, name: string, iata: string, icao: string, callsign: string];

const airlineRows: Readonly<Record<Country, readonly AirlineRow[]>> = {
  'United States': [
    [10, '40-Mile Air', 'Q5', 'MLA', 'MILE-AIR'],
    [24, 'American Airlines', 'AA', 'AAL', 'AMERICAN'],
    [439, 'Alaska Airlines', 'AS', 'ASA', 'ALASKA'],
    [1316, 'AirTran Airways', 'FL', 'TRS', 'CITRUS'],
    [2009, 'Delta Air Lines', 'DL', 'DAL', 'DELTA'],
    [2688, 'Hawaiian Airlines', 'HA', 'HAL', 'HAWAIIAN'],
    [3029, 'JetBlue Airways', 'B6', 'JBU', 'JETBLUE'],
    [4547, 'Southwest Airlines', 'WN', 'SWA', 'SOUTHWEST'],
    [5209, 'United Airlines', 'UA', 'UAL', 'UNITED'],
    [5265, 'US Airways', 'US', 'USA', 'U S AIR'],
    [5331, 'Virgin America', 'VX', 'VRD', 'REDWOOD'],
  ],
  'United Kingdom': [
    [1355, 'British Airways', 'BA', 'BAW', 'SPEEDBIRD'],
    [2264, 'Excel Airways', 'JN', 'XLA', 'EXPO'],
    [2297, 'easyJet', 'U2', 'EZY', 'EASY'],
    [5347, 'Virgin Atlantic Airways', 'VS', 'VIR', 'VIRGIN'],
  ],
  France: [
    [137, 'Air France', 'AF', 'AFR', 'AIRFRANS'],
    [1909, 'Corsairfly', 'SS', 'CRL', 'CORSAIR'],
  ],
};

export const knownAirlines: readonly KnownAirline[] = countries.flatMap((country) =>
  airlineRows[country].map(([id, name, iata, icao, callsign]) => ({
    id,
    name,
    iata,
    icao,
    callsign,
    country,
  })),
);

/** Airports of other countries, which only routes name. */
const airportsElsewhere: Readonly<Record<string, Position>> = {
  TLV: { lat: 32.011, lon: 34.887 },
  ALG: { lat: 36.691, lon: 3.215 },
};

export interface KnownRoute {
  readonly airline: string;
  readonly airlineId: number;
  readonly from: { readonly faa: string; readonly geo: Position };
  readonly to: { readonly faa: string; readonly geo: Position };
  readonly stops: number;
}

type RouteRow = readonly [airline: string, airlineId: number, from: string, to: string, stops?: number];

/** Routes that statements of tutorials find. Some are of airlines of other countries, which have no document. */
const routeRows: readonly RouteRow[] = [
  ['AF', 137, 'TLV', 'MRS'],
  ['AF', 137, 'TLV', 'NCE'],
  ['AF', 137, 'TLS', 'ORY'],
  ['AH', 794, 'TLS', 'ALG'],
  ['AH', 794, 'MRS', 'ALG'],
  ['AI', 218, 'LHR', 'CDG'],
  ['KL', 3090, 'ABQ', 'ATL'],
  ['KL', 3090, 'SFO', 'ATL'],
  ['DL', 2009, 'SFO', 'ATL'],
  ['DL', 2009, 'ABQ', 'ATL'],
  ['UA', 5209, 'SFO', 'JFK'],
  ['AA', 24, 'SFO', 'JFK'],
  ['B6', 3029, 'SFO', 'JFK'],
  ['FL', 1316, 'ATL', 'MCO', 1],
];

export const knownRoutes: readonly KnownRoute[] = routeRows.map(
  ([airline, airlineId, from, to, stops = 0]) => ({
    airline,
    airlineId,
    from: endOf(from),
    to: endOf(to),
    stops,
  }),
);

function endOf(faa: string) {
  const known = knownAirports.find((airport) => airport.faa === faa);
  return { faa, geo: known ?? (airportsElsewhere[faa] as Position) };
}
