// The member `#stats` of operators: their time and rows, as the published profile shows them.
import { writeDuration } from '../functions/dates/durations.ts';
import { newObject, type Value } from '../values/value.ts';
import type { OperatorStats } from './meter.ts';

/** The first of an operator's nodes has its time; the others only pass its rows on. */
export function nodesWithStats(nodes: readonly Value[], stats: OperatorStats | undefined): Value[] {
  if (!stats) return [...nodes];
  return nodes.map((node, at) =>
    withStats(node as Readonly<Record<string, Value>>, at === 0 ? stats : passing(stats)),
  );
}

function passing({ itemsOut }: OperatorStats): OperatorStats {
  return { itemsIn: itemsOut, itemsOut, switches: 0, execMs: 0, kernMs: 0, servMs: 0 };
}

function withStats(node: Readonly<Record<string, Value>>, stats: OperatorStats): Value {
  const object = newObject();
  object['#operator'] = node['#operator'];
  object['#stats'] = statsNode(stats);
  for (const [name, value] of Object.entries(node)) if (name !== '#operator') object[name] = value;
  return object;
}

/** Omits zeros. */
function statsNode({ itemsIn, itemsOut, switches, execMs, kernMs, servMs }: OperatorStats): Value {
  const object = newObject();
  const counts = { '#itemsIn': itemsIn, '#itemsOut': itemsOut, '#phaseSwitches': switches };
  for (const [name, count] of Object.entries(counts)) if (count > 0) object[name] = count;
  const times = { execTime: execMs, kernTime: kernMs, servTime: servMs };
  for (const [name, ms] of Object.entries(times))
    if (ms > 0) object[name] = writeDuration(BigInt(Math.round(ms * 1e6)));
  return object;
}
