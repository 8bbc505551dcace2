// The words of which names and texts of the sample data are made.
import type { Prng } from '#base/prng.ts';

const starts = [
  'Al',
  'Bre',
  'Cor',
  'Da',
  'El',
  'Fa',
  'Gor',
  'Hal',
  'In',
  'Is',
  'Ka',
  'Lin',
  'Mo',
  'Nor',
  'Os',
];
const middles = ['ba', 'de', 'la', 'lo', 'ma', 'mi', 'na', 'ra', 'ri', 'sa', 'ta', 'va'];
const ends = ['burg', 'dal', 'field', 'ford', 'haven', 'holm', 'mont', 'port', 'stad', 'ville', 'wick'];
const firstNames = [
  'Ada',
  'Ben',
  'Carla',
  'Dev',
  'Ella',
  'Finn',
  'Greta',
  'Hugo',
  'Ines',
  'Jon',
  'Kofi',
  'Lena',
  'Mara',
  'Nils',
  'Olga',
  'Priya',
  'Rosa',
  'Sven',
  'Tess',
  'Yuki',
];
const remarks = [
  'The room was quiet and clean.',
  'The view from the window was worth the price.',
  'Breakfast could be better, but it is free.',
  'We will come again next summer.',
  'The people at the desk were friendly and knew the town well.',
  'The bed was too soft for me.',
  'It is a short walk to the station.',
  'The walls are thin, and our neighbours had a party.',
  'The pool was closed for repairs.',
  'Good value for a family with two children.',
];
const descriptions = [
  'A small house near the river, with a garden behind it.',
  'Modern rooms above a shopping street.',
  'A quiet place in a side street, five minutes from the centre.',
  'Simple rooms with a shared kitchen.',
  'Large rooms with a view of the old town.',
];
const streets = [
  'Bridge',
  'Castle',
  'Church',
  'Garden',
  'Harbour',
  'High',
  'Mill',
  'Park',
  'Station',
  'Victoria',
];

/** A name of a place, such as Corlaport. */
export const placeName = (random: Prng): string =>
  `${random.pick(starts)}${random.pick(middles)}${random.pick(ends)}`;

export const personName = (random: Prng): string =>
  `${random.pick(firstNames)} ${random.pick(starts)}${random.pick(middles)}${random.pick(ends)}`;

export const streetAddress = (random: Prng): string =>
  `${1 + random.below(180)} ${random.pick(streets)} Street`;

export const reviewText = (random: Prng): string =>
  Array.from({ length: 2 + random.below(4) }, () => random.pick(remarks)).join(' ');

export const description = (random: Prng): string => random.pick(descriptions);

/** A number from the range 555-0100 to 555-0199, which is reserved for fiction. */
export const phoneNumber = (random: Prng): string => `+1 555-01${String(random.below(100)).padStart(2, '0')}`;

export const twoFigures = (value: number): string => String(value).padStart(2, '0');

/** True for one in `count`. */
export const oneIn = (random: Prng, count: number): boolean => random.below(count) === 0;
