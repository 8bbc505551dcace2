// The seed of everything random in tests: printed with each run, and set by DIVAN_SEED to repeat one.

const name = 'DIVAN_SEED';
const seedMax = 2 ** 31 - 1;

/** Where the seed is printed: the context of a test, or a function where there is none. */
type Print = { diagnostic(message: string): void } | ((line: string) => void);

/** From 0 to 2^31 - 1. `usual`: the seed without DIVAN_SEED, for tests that use the same input in each run. */
export function printedSeed(print: Print, usual = process.hrtime()[1] & seedMax): number {
  const seed = seedOf(process.env[name], usual);
  const line = `${name}=${seed}`;
  if (typeof print === 'function') print(line);
  else print.diagnostic(line);
  return seed;
}

/** Refuses an invalid seed, which would silently not repeat the run. */
export function seedOf(text: string | undefined, usual: number): number {
  if (text === undefined || text === '') return usual;
  const seed = Number(text);
  if (!Number.isInteger(seed) || seed < 0 || seed > seedMax)
    throw new Error(`${name}: "${text}" is not a number from 0 to ${seedMax}`);
  return seed;
}
