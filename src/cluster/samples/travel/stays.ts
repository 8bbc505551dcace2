// Hotels and landmarks of the sample data.
import type { Prng } from '#base/prng.ts';
import { rounded } from './flights.ts';
import { type City, cities } from './travel-places.ts';
import {
  description,
  oneIn,
  personName,
  phoneNumber,
  placeName,
  reviewText,
  streetAddress,
  twoFigures,
} from './travel-words.ts';

/** Ids that tutorials read by name; the others follow from the first free number on. */
const hotelIds = [10025, 10026, 10063, 10064, 10142, 10180, 1364, 1368, 1501, 21723, 21728, 21730];
const landmarkIds = [10019, 10020, 10021, 10025, 10090, 16144, 26385, 38035, 4428];
const firstFreeId = 10_200;

const hotelWords = ['Grand Hotel', 'Hotel', 'Inn', 'Lodge', 'Guest House', 'Hostel', 'Resort'];
const landmarkWords = ['Museum', 'Castle', 'Park', 'Theatre', 'Market', 'Gallery', 'Cathedral', 'Tower'];
const foodWords = ['Kitchen', 'Bistro', 'Café', 'Tavern', 'Bakery', 'Grill'];
const activities = ['see', 'see', 'see', 'eat', 'eat', 'eat', 'drink', 'do', 'buy', 'listen'];
const accuracies = ['APPROXIMATE', 'RANGE_INTERPOLATED', 'ROOFTOP'];
const ratingNames = ['Service', 'Cleanliness', 'Overall', 'Value', 'Location', 'Rooms'];
const rarerRatingNames = [
  'Sleep Quality',
  'Check in / front desk',
  'Business service (e.g., internet access)',
];
const reviewsMax = 6;
const likesMax = 8;

const idsOf = (first: readonly number[], count: number): number[] =>
  Array.from({ length: count }, (_, index) => first[index] ?? firstFreeId + 13 * (index - first.length));

export function hotelsOf(random: Prng, count: number) {
  return idsOf(hotelIds, count).map((id, index) => {
    const city = cityOf(random, index);
    const name = placeName(random);
    return {
      id,
      type: 'hotel',
      title: city.name,
      name: `${name} ${random.pick(hotelWords)}`,
      ...placeOf(random, city),
      directions: oneIn(random, 3) ? `Near ${name} station` : null,
      ...contactOf(random, name),
      fax: oneIn(random, 10) ? phoneNumber(random) : null,
      checkin: oneIn(random, 4) ? `${12 + random.below(4)}:00` : null,
      checkout: oneIn(random, 4) ? `${9 + random.below(3)}:00` : null,
      price: oneIn(random, 3) ? `from £${40 + random.below(200)}` : null,
      vacancy: random.below(3) > 0,
      description: description(random),
      alias: oneIn(random, 20) ? name : null,
      pets_ok: oneIn(random, 2),
      free_breakfast: random.below(4) > 0,
      free_internet: oneIn(random, 2),
      free_parking: oneIn(random, 2),
      public_likes: Array.from({ length: random.below(likesMax + 1) }, () => personName(random)),
      reviews: Array.from(
        { length: random.below(1 + (oneIn(random, 10) ? 2 * reviewsMax : reviewsMax)) },
        () => reviewOf(random),
      ),
    };
  });
}

export function landmarksOf(random: Prng, count: number) {
  return idsOf(landmarkIds, count).map((id, index) => {
    const city = cityOf(random, index);
    const name = placeName(random);
    const activity = activities[index % activities.length] as string;
    return {
      id,
      type: 'landmark',
      title: city.name,
      name: `${name} ${random.pick(activity === 'eat' || activity === 'drink' ? foodWords : landmarkWords)}`,
      alt: oneIn(random, 8) ? placeName(random) : null,
      ...placeOf(random, city),
      directions: oneIn(random, 4) ? 'A short walk from the station' : null,
      ...contactOf(random, name),
      hours: oneIn(random, 2) ? `Daily ${8 + random.below(4)}.00am to ${4 + random.below(6)}.00pm` : null,
      image: null,
      price: oneIn(random, 4) ? `£${3 + random.below(20)}` : null,
      content: description(random),
      activity,
    };
  });
}

/** The first hotels and landmarks are in the cities in which tutorials look for them. */
const cityOf = (random: Prng, index: number): City => {
  const name = ['Medway', 'Gillingham', 'San Francisco', 'Paris', 'London'][index];
  return cities.find((city) => city.name === name) ?? random.pick(cities);
};

const placeOf = (random: Prng, city: City) => ({
  address: streetAddress(random),
  city: city.name,
  state: city.state,
  country: city.country,
  geo: {
    lat: rounded(city.lat + random.next() / 10 - 0.05, 5),
    lon: rounded(city.lon + random.next() / 10 - 0.05, 5),
    accuracy: random.pick(accuracies),
  },
});

const contactOf = (random: Prng, name: string) => ({
  phone: oneIn(random, 4) ? null : phoneNumber(random),
  tollfree: oneIn(random, 12) ? phoneNumber(random) : null,
  email: oneIn(random, 5) ? `info@${name.toLowerCase()}.example` : null,
  url: oneIn(random, 4) ? null : `http://www.${name.toLowerCase()}.example`,
});

function reviewOf(random: Prng) {
  const names = [...ratingNames, ...rarerRatingNames.filter(() => oneIn(random, 4))];
  const month = twoFigures(1 + random.below(12));
  const time = `${twoFigures(random.below(24))}:${twoFigures(random.below(60))}:${twoFigures(random.below(60))}`;
  return {
    content: reviewText(random),
    ratings: Object.fromEntries(names.map((name) => [name, 1 + random.below(5)])),
    author: personName(random),
    date: `20${10 + random.below(7)}-${month}-${twoFigures(1 + random.below(28))} ${time} +0300`,
  };
}
