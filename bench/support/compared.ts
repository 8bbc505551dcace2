// Measures a node and another product with the same documents, its peer (PostgreSQL), in interleaved runs: operations for each second of processor time of the server, and latencies.
import { fineServerMs, serverMs } from './server-usage.ts';

interface Server {
  readonly name: string;
  readonly pid: number;
}

export interface Sides {
  readonly node: Server;
  readonly peer: Server | null;
}

export type Work = (round: number) => Promise<unknown> | undefined;

interface Comparison {
  readonly sides: Sides;
  readonly rounds: number;
  /** Rows or documents per round. */
  readonly each?: number;
  /** The goal as a share of the peer's rate. */
  readonly goal?: number;
  /** The goal for latencies; if it is set they are printed. */
  readonly latencyGoal?: string;
  /** Measures each thread in nanoseconds instead of ticks of 10 ms; the time of threads that end meanwhile is lost. For short operations. */
  readonly countsThreads?: boolean;
  /** Counts the first slice, too, which otherwise warms both sides up. */
  readonly isCold?: boolean;
}

/**
 * Measures the work `here` on the node and `there` on the peer in alternation, so that other load of the machine affects both. Returns
 * the operations of the node for each second of its processor time.
 */
export async function compared(
  what: string,
  { sides, rounds, each = 1, goal, latencyGoal, isCold = false, countsThreads = false }: Comparison,
  here: Work,
  there: Work = async () => {},
): Promise<number> {
  const parts = [{ server: sides.node, work: here }];
  if (sides.peer !== null) parts.push({ server: sides.peer, work: there });
  const sums = parts.map(() => ({ cpuMs: 0, times: [] as number[] }));
  const slices = Math.min(rounds, 4);
  for (let slice = 0; slice <= slices; slice++) {
    for (const [at, { server, work }] of parts.entries()) {
      const startClock = countsThreads ? fineServerMs : tickingMs;
      const measured = await timed(() => startClock(server.pid), work, slice, Math.ceil(rounds / slices));
      if (slice === 0 && !isCold) continue;
      const sum = sums[at] as (typeof sums)[number];
      sum.cpuMs += measured.cpuMs;
      sum.times.push(...measured.times);
    }
  }
  const rates = sums.map(({ cpuMs, times }) => (times.length * each) / (cpuMs / 1_000));
  const texts = parts.map(({ server }, at) => {
    const rate = rates[at] as number;
    return `${server.name} ${figure(rate)} (${(1e6 / rate).toPrecision(3)} µs each)`;
  });
  const [ours = 0, theirs] = rates;
  const ratio =
    theirs === undefined
      ? ''
      : `, ${(ours / theirs).toFixed(2)} of the peer's rate${goal === undefined ? '' : ` (goal ${goal})`}`;
  const latencies =
    latencyGoal === undefined
      ? ''
      : `; ${latencyText(sums[0]?.times ?? [])} ${latencyGoal && `(${latencyGoal})`}`;
  console.log(`${what}: ${texts.join(', ')} for each CPU-second${ratio}${latencies}`);
  return ours;
}

/** Runs every work once in each round, for `times` rounds or at most for `msMax`. Prints how often each has run. */
export async function warmUp(
  works: readonly Work[],
  { times, msMax }: { readonly times: number; readonly msMax: number },
): Promise<void> {
  const startedMs = performance.now();
  let round = 0;
  for (; round < times && performance.now() - startedMs < msMax; round++)
    for (const work of works) await work(round);
  console.log(`warmed up: ${figure(round)} of ${figure(times)} times each`);
}

function tickingMs(pid: number): () => number {
  const cpuBeforeMs = serverMs(pid);
  return () => Math.max(serverMs(pid) - cpuBeforeMs, 10);
}

async function timed(startClock: () => () => number, work: Work, slice: number, rounds: number) {
  const times: number[] = [];
  const cpuMs = startClock();
  for (let round = 0; round < rounds; round++) {
    const startedMs = performance.now();
    await work(slice * rounds + round);
    times.push(performance.now() - startedMs);
  }
  return { cpuMs: cpuMs(), times };
}

export const figure = (value: number): string => Math.round(value).toLocaleString('en');

export function latencyText(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const quantile = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(2);
  return `median ${quantile(0.5)} ms, 99 % ${quantile(0.99)} ms`;
}
