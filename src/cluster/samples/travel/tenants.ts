// Users and bookings of the travel agents in the sample data.
import type { Prng } from '#base/prng.ts';
import type { Airline, Airport } from './flights.ts';
import { rounded } from './flights.ts';
import { cities } from './travel-places.ts';
import { personName, phoneNumber, streetAddress, twoFigures } from './travel-words.ts';

const cardTypes = ['Visa', 'Mastercard', 'American Express'];

export function usersOf(
  random: Prng,
  count: number,
  airlines: readonly Airline[],
  airports: readonly Airport[],
) {
  return Array.from({ length: count }, () => {
    const name = personName(random);
    const { name: city, country } = random.pick(cities);
    return {
      name,
      addresses: [{ type: 'home', address: streetAddress(random), city, country }],
      driving_licence: licence(random),
      passport: licence(random),
      preferred_email: `${name.toLowerCase().replace(' ', '.')}@mail.example`,
      preferred_phone: phoneNumber(random),
      preferred_airline: `airline_${random.pick(airlines).id}`,
      preferred_airport: `airport_${random.pick(airports).id}`,
      credit_cards: [
        {
          type: random.pick(cardTypes),
          // No card has a number that begins with four zeros.
          number: `0000-0000-0000-${1_000 + random.below(9_000)}`,
          expiration: `20${30 + random.below(9)}-${twoFigures(1 + random.below(12))}`,
        },
      ],
      created: `2020-${twoFigures(1 + random.below(12))}-${twoFigures(1 + random.below(28))}`,
      updated: `2021-${twoFigures(1 + random.below(12))}-${twoFigures(1 + random.below(28))}`,
    };
  });
}

export function bookingsOf(
  random: Prng,
  count: number,
  users: number,
  routes: readonly { readonly id: number; readonly airline: string | null }[],
) {
  return Array.from({ length: count }, () => {
    const route = random.pick(routes);
    return {
      user: String(random.below(users)),
      date: `${twoFigures(1 + random.below(12))}/${twoFigures(1 + random.below(28))}/2021`,
      flight: `${route.airline}${100 + random.below(900)}`,
      flighttime: 2_000 + random.below(20_000),
      price: rounded(50 + random.next() * 1_500, 2),
      route: String(route.id),
    };
  });
}

const licence = (random: Prng): string => random.bytes(5).toString('hex');
