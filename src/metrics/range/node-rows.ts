// What one node contributes to the answer of a range query.
import type { Row } from '../query/combine.ts';
import { stepsIn } from '../query/evaluate.ts';
import type { Plan } from '../query/plan.ts';
import type { Labels } from '../sample.ts';
import type { RangeBudget } from './range-budget.ts';
import type { RangeRequest } from './range-request.ts';

export interface NodeRows {
  /** One list of rows. With the aggregation `special`: one for each source of the derived metric. */
  readonly lists: readonly (readonly Row[])[];
  /** What could not be read. */
  readonly problems: readonly string[];
  /** Why the node has no matching series, such as an unknown metric or label; empty if it has some. */
  readonly explanations: readonly string[];
}

/** A node that range queries read. */
export interface RangeNode {
  /** The node's address in answers. */
  readonly name: string;
  /** All addresses under which requests may name it. */
  readonly names: readonly string[];
  /** @throws Error when the node cannot answer; the answer of the query names it with the message. */
  rows(request: RangeRequest, plan: Plan, caller: RangeCaller): Promise<NodeRows>;
}

/** Which series the caller may read, and what remains of the limits of the request. */
export interface RangeCaller {
  /** Whether the caller may read the series with these labels. */
  visible(labels: Labels): boolean;
  /** Whether the caller may read every series. */
  readonly seesAll: boolean;
  /** The remaining limits of the request. */
  readonly budget: RangeBudget;
}

/** Rows in a message: numbers as base64 of doubles, since JSON has neither NaN nor infinities. */
export interface RowMessage {
  readonly labels: Labels;
  readonly values: string;
  readonly has: string;
}

export interface RowsMessage extends Pick<NodeRows, 'problems' | 'explanations'> {
  readonly lists: readonly (readonly RowMessage[])[];
}

export function packRows({ lists, problems, explanations }: NodeRows): RowsMessage {
  const packed = lists.map((rows) =>
    rows.map(({ labels, values, has }) => ({ labels, values: base64Of(values), has: base64Of(has) })),
  );
  return { lists: packed, problems, explanations };
}

/** @throws Error when a row does not have a value for each step of the request. */
export function unpackRows({ lists, problems, explanations }: RowsMessage, request: RangeRequest): NodeRows {
  const steps = stepsIn(request);
  const rows = lists.map((packed) =>
    packed.map(({ labels, values, has }): Row => {
      const row = { labels, values: new Float64Array(steps), has: new Uint8Array(steps) };
      const isFilled =
        Buffer.from(row.values.buffer).write(values, 'base64') === row.values.byteLength &&
        Buffer.from(row.has.buffer).write(has, 'base64') === row.has.byteLength;
      if (!isFilled) throw new Error('the answer of the node does not have one value for each step');
      return row;
    }),
  );
  return { lists: rows, problems, explanations };
}

const base64Of = ({ buffer, byteOffset, byteLength }: Float64Array | Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('base64');
